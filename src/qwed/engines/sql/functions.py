"""Functions by name: which of them reach beyond the query, and which are known to be harmless.

A function that is in neither table may be anybody's; what it does is not known from the text.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from qwed.domain.risk import Risk
from qwed.engines.words import words

_FORBIDDEN_NAMES: Final = {
    "time_probe": """
        sleep pg_sleep pg_sleep_for pg_sleep_until benchmark dbms_lock.sleep dbms_session.sleep
        dbms_pipe.receive_message system$wait sleepeachrow waitfor user_lock.sleep
        """,
    "error_probe": """
        extractvalue updatexml gtid_subset gtid_subtract name_const xmltype ctxsys.drithsx.sn
        ordsys.ord_dicom.getmappingxpath dbms_utility.sqlid_to_sqlhash dbms_xdb_version.checkin
        dbms_xdb_version.makeversioned dbms_xdb_version.uncheckout st_latfromgeohash st_longfromgeohash
        st_pointfromgeohash
        """,
    "file_access": """
        load_file pg_read_file pg_read_binary_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_ls_tmpdir
        pg_ls_archive_statusdir pg_stat_file pg_logdir_ls pg_file_write pg_file_read pg_file_unlink
        pg_file_rename pg_current_logfile pg_execute_server_program lo_import lo_export lo_create lo_creat
        lo_unlink lo_put lo_get lo_open lowrite loread lo_from_bytea lo_truncate readfile writefile edit
        load_extension fts3_tokenizer read_csv read_csv_auto read_parquet parquet_scan read_json
        read_json_auto read_ndjson read_text read_blob glob_files sniff_csv arrow_scan openrowset bfilename
        to_file fn_xe_file_target_read_file fn_get_audit_file fn_trace_gettable fn_dump_dblog fn_dblog file
        hdfs sqlite_dbpage dbms_advisor.create_file dbms_xslprocessor.read2clob dbms_xslprocessor.clob2file
        get_stage_location read_files
        """,
    "network_access": """
        dblink dblink_connect dblink_connect_u dblink_exec dblink_send_query dblink_open dblink_fetch
        opendatasource openquery http_get http_post http http_put http_delete http_patch http_head
        httpuritype external_query url urlcluster s3 s3cluster remote remotesecure cluster mysql postgresql
        mongodb jdbc odbc iceberg deltalake azureblobstorage gcs dbms_ldap.init system$get_service_status
        """,
    "command_execution": """
        sys_exec sys_eval sys_bineval sys_get sys_set lib_mysqludf_sys_info shell system xp_cmdshell
        executable java_method reflect reflect2 dbms_java.runjava dbms_java_test.funcall
        dbms_scheduler.create_job query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml
        table_to_xml schema_to_xml database_to_xml ts_stat ts_rewrite dbms_xmlgen.getxml
        dbms_xmlgen.getxmltype dbms_xmlquery.newcontext dbms_xmlquery.getxml dbms_sql.execute sp_executesql
        crosstab connectby xpath_table query_table eval
        """,
    "administration": """
        pg_terminate_backend pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_switch_wal pg_switch_xlog
        pg_create_restore_point pg_start_backup pg_stop_backup pg_backup_start pg_backup_stop pg_promote
        pg_drop_replication_slot pg_create_physical_replication_slot pg_create_logical_replication_slot
        pg_logical_slot_get_changes pg_replication_origin_create pg_replication_origin_drop
        pg_wal_replay_pause pg_import_system_collations pg_stat_reset pg_stat_statements_reset set_config
        kill_session system$cancel_query system$abort_session system$global_account_set_parameter sqlite_log
        """,
}
FORBIDDEN: Final[Mapping[str, str]] = MappingProxyType(
    {name: rule for rule, names in _FORBIDDEN_NAMES.items() for name in names.split()}
)

# How to say so: `pg_sleep() makes the server wait`.
WHY_FORBIDDEN: Final = {
    "time_probe": "makes the server wait",
    "error_probe": "is made to fail with a value in its message",
    "file_access": "reaches the files of the server",
    "network_access": "reaches the network",
    "command_execution": "runs code or statements from a text",
    "administration": "administers the server",
}

# Packages and prefixes whose members all reach outside.
FORBIDDEN_PREFIXES: Final[tuple[tuple[str, str], ...]] = (
    ("xp_", "command_execution"),
    ("sp_oa", "command_execution"),
    ("utl_http.", "network_access"),
    ("utl_tcp.", "network_access"),
    ("utl_smtp.", "network_access"),
    ("utl_mail.", "network_access"),
    ("utl_inaddr.", "network_access"),
    ("utl_dbws.", "network_access"),
    ("utl_file.", "file_access"),
    ("dbms_ldap.", "network_access"),
    ("dbms_java.", "command_execution"),
    ("dbms_sql.", "command_execution"),
    ("dbms_scheduler.", "command_execution"),
    ("dbms_lock.", "time_probe"),
    ("dbms_pipe.", "time_probe"),
    ("dbms_xmlgen.", "command_execution"),
    ("dbms_cloud.", "network_access"),
    ("lo_", "file_access"),
    ("dblink", "network_access"),
    ("http_", "network_access"),
    ("system$", "administration"),
)

# They change something, though a SELECT calls them.
SIDE_EFFECTS: Final[Mapping[str, Risk]] = MappingProxyType(
    dict.fromkeys(
        words(
            """
            nextval setval pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock
            pg_advisory_xact_lock_shared pg_try_advisory_lock pg_try_advisory_xact_lock pg_advisory_unlock
            pg_advisory_unlock_all get_lock release_lock release_all_locks pg_notify pg_export_snapshot
            master_pos_wait setseed
            """
        ),
        Risk.HIGH,
    )
)

# What they tell is about the server or the session, not about the data.
SERVER_FACTS: Final = words(
    """
    version user current_user session_user system_user database schema current_schema current_database
    current_schemas current_role current_catalog connection_id inet_server_addr inet_server_port
    inet_client_addr pg_backend_pid pg_postmaster_start_time current_setting has_table_privilege host_name
    db_name db_id suser_name suser_sname suser_id user_name original_login serverproperty is_srvrolemember
    is_member has_dbaccess sqlite_version sqlite_source_id sqlite_compileoption_get
    sqlite_compileoption_used sys_context userenv current_account current_region current_warehouse
    current_version last_query_id pg_conf_load_time object_id object_name object_definition col_name
    index_col databasepropertyex fn_my_permissions
    """
)

# Families that no application names its own functions after.
PURE_PREFIXES: Final = tuple(
    sorted(
        words(
            """
            json_ jsonb_ regexp_ st_ approx_ bit_ bitmap_ percentile_ regr_ covar_ hll_ h3_ s2_ try_to_ kll_
            is_null_ safe. net. hll_count. kll_quantiles. keys. ml. xml
            """
        )
    )
)

PURE: Final = words(
    """
    abbrev abs acos acosd acosh add_days add_months adddate addhours addtime aes_decrypt aes_encrypt age
    age_in_years aggregate akeys all all_match any any_match any_value anyvalue approxcountdistinct area
    arg_max arg_min argmax argmin array array_agg array_append array_cat array_compact array_concat
    array_concat_agg array_construct array_contains array_count array_dims array_distinct array_except
    array_fill array_filter array_first array_flatten array_generate_range array_includes array_insert
    array_intersect array_intersection array_is_distinct array_join array_last array_length array_lower
    array_max array_min array_ndims array_position array_positions array_prepend array_remove array_repeat
    array_replace array_reverse array_sample array_shuffle array_size array_slice array_sort array_sum
    array_to_json array_to_string array_to_tsvector array_transform array_union array_unique_agg array_upper
    arrayagg arraylength arrays_overlap arrays_to_object arrays_zip as_array as_binary as_boolean as_char
    as_date as_decimal as_double as_integer as_number as_object as_real as_time as_timestamp_ltz
    as_timestamp_ntz as_timestamp_tz as_varchar ascii ascii_str asin asind asinh atan atan2 atand atanh atn2
    avals avg avgif base64_decode_binary base64_decode_string base64_encode bigint bin bin_to_uuid
    binary_checksum bit_length bitand bitcount bitnot bitor bitshiftleft bitshiftright bitxor bm25 bool
    bool_and bool_or bool_xor booland_agg boolean boolor_agg boolxor_agg box broadcast bround btrim bucket
    byte_length bytes cardinality cast cbrt ceil ceiling center century changes char char2hexint char_length
    character_length charindex chars checksum checksum_agg choose chr chunk cidr circle clock_timestamp
    coalesce coercibility collation collect collect_list collect_set combin compress concat concat_ws
    contains contains_key containstable conv convert convert_from convert_timezone convert_to convert_tz
    corr cos cosd cosh cosine_distance cosine_similarity cot cotd coth count count_if countdistinct countif
    crc32 crypt csc csch cube_distance cume_dist curdate current_date current_time current_timestamp
    current_timezone currval curtime date date32 date_add date_bin date_diff date_format date_from_parts
    date_from_unix_date date_parse date_part date_sub date_trunc dateadd datediff datediff_big datefromparts
    datename datepart daterange datetime datetime2fromparts datetime_add datetime_bucket datetime_diff
    datetime_sub datetime_trunc datetimefromparts datetimeoffsetfromparts datetrunc day dayname dayofmonth
    dayofweek dayofyear days dbtimezone decade decimal decode decrypt defined degrees dense_rank diagonal
    diameter dictget diff difference digest div div0 div0null dmetaphone double dow doy each earth_box
    earth_distance edit_distance editdist3 editdistance element_at elt encode encrypt ends_with endswith
    entropy enum_first enum_last enum_range eomonth epoch epoch_ms equal_null erf every exist exists
    exp explode expm1 export_set extract extract_json_path_text fact factorial family farm_fingerprint field
    filter find_in_set first first_day first_value flatten float float32 float4 float64 float8 floor forall
    format format_date format_datetime format_time format_timestamp found_rows freetext freetexttable
    from_base32 from_base64 from_days from_hex from_iso8601_date from_iso8601_timestamp from_json
    from_unixtime from_utc_timestamp from_utf8 fromunixtimestamp fv gcd gen_random_uuid gen_salt
    generate_array generate_date_array generate_series generate_subscripts generate_timestamp_array
    generate_uuid generator geohash_decode geohash_encode get get_bit get_byte get_path getbit getdate
    getutcdate getvariable glob greatest group_concat grouparray groupby grouping grouping_id groupuniqarray
    hash hash_agg haversine height hex hex_decode_binary hex_decode_string hex_encode highlight histogram
    hmac hop host hostmask hour hours hstore iff ifnull iif inet inet6_aton inet6_ntoa inet_aton inet_ntoa
    initcap inner_product insert instr int int2 int4 int4range int64 int8 int8range integer interval irr
    is_array is_binary is_boolean is_char is_date is_date_value is_decimal is_double is_finite is_inf
    is_infinite is_integer is_json is_nan is_null_value is_object is_real is_time is_timestamp_ltz
    is_timestamp_ntz is_timestamp_tz is_uuid is_valid_json is_varchar isdate isempty iserror iseven isfinite
    isinf isjson isnan isnull isnumeric isodd isodow jaccard_index jaro_similarity jaro_winkler_similarity
    json json_agg json_array json_build_object json_each json_extract json_object json_object_agg json_query
    json_tree json_value jsonb jsonb_agg jsonb_each jsonb_object_agg julian julianday justify_days
    justify_hours justify_interval kurtosis l1_distance l2_distance lag last last_day last_insert_id
    last_insert_rowid last_value lastval lax_bool lax_float64 lax_int64 lax_string lca lcase lcm lead least
    left len length levenshtein levenshtein_less_equal like likelihood likely line list list_agg
    list_aggregate list_append list_concat list_contains list_distinct list_element list_filter list_reverse
    list_slice list_sort list_sum list_transform list_unique list_value listagg ll_to_earth ln localtime
    localtimestamp locate log log10 log1p log2 lower lower_inc lower_inf lpad lquery lseg ltree ltree2text
    ltrim mad make_array make_date make_dt_interval make_interval make_set make_time make_timestamp
    make_timestamptz make_ym_interval makedate maketime map_agg map_cat map_concat map_contains_key
    map_delete map_entries map_filter map_from_arrays map_from_entries map_insert map_keys map_pick map_size
    map_union map_values map_zip_with masklen match matchinfo max max_by maxby md5 md5_binary md5_hex
    md5_number median metaphone microsecond mid millennium min min_by minby minute minutes mod mode month
    monthname monthnumber months months_between mround multirange nanvl nchar ndims ndv netmask network
    new_time newid next_day nlevel none_match normal normalize now npoints npv nth_value ntile nullif
    nullifzero nulls num_nodes num_nonnulls num_nulls numeric numnode numrange numtodsinterval
    numtoyminterval nvl nvl2 object_agg object_construct object_construct_keep_null object_delete
    object_insert object_keys object_pick octet_length offset offsets openjson ord parse_bignumeric
    parse_date parse_datetime parse_ident parse_ip parse_json parse_numeric parse_time parse_timestamp
    parse_url parse_xml parsename path patindex pct percent_rank period_add period_diff permut
    pg_column_size pg_size_pretty pg_typeof phraseto_tsquery pi pivot plainto_tsquery pmt point polygon
    posexplode position pow power previous_day printf proper pv qualify quantile quantile_cont quantile_disc
    quantileexact quantiles quarter querytree quote quote_ident quote_literal quote_nullable quotename
    radians radius rand randn random random_bytes randomblob randstr range range_bucket range_contains
    range_end range_intersects_with range_sessionize range_start rank rate ratio_to_report real reduce
    regexp reinterpret repeat replace replicate result_scan reverse right rint round round_half_even
    row_count row_number row_to_json rowcount rowid rpad rtrim rtrimmed_length safe_add safe_cast
    safe_convert_bytes_to_string safe_divide safe_multiply safe_negate safe_subtract scale schema_name
    scope_identity sec sec_to_time sech second seconds sem seq1 seq2 seq4 seq8 sequence session sessionize
    sessiontimezone set_bit set_byte set_masklen setweight sha sha1 sha1_binary sha1_hex sha2 sha224
    sha256 sha2_binary sha2_hex sha384 sha512 show_trgm sigmoid sign similar similarity sin sind sinh size
    skewness skeys slice slope smalldatetimefromparts smallint snippet some sort_array soundex space split
    split_part split_to_table sqrt square starts_with startswith statement_timestamp stddev stddev_pop
    stddev_samp stddevpop stddevsamp stdev stdevp str str_to_date str_to_map str_to_time strcmp strftime
    strict_word_similarity string string_agg string_split string_to_array string_to_table stringagg strip
    strpos strptime strtok strtok_to_array struct stuff sub subdate subltree subpath substr substr_count
    substring substring_index substring_similarity substringutf8 subtime subtype sum sumif svals
    switchoffset sysdate sysdatetime sysdatetimeoffset systimestamp sysutcdatetime table tan tand tanh text
    text2ltree time time_add time_bucket time_diff time_format time_from_parts time_slice time_sub
    time_to_sec time_trunc timediff timefromparts timeofday timestamp timestamp_add timestamp_bucket
    timestamp_diff timestamp_from_parts timestamp_ltz_from_parts timestamp_micros timestamp_millis
    timestamp_ntz_from_parts timestamp_seconds timestamp_sub timestamp_trunc timestamp_tz_from_parts
    timestampadd timestampdiff timestampfromparts timezone to_array to_ascii to_base32 to_base64 to_binary
    to_boolean to_char to_clob to_code_points to_date to_datetime to_days to_decimal to_double to_dsinterval
    to_geography to_geometry to_hex to_iso8601 to_json to_json_string to_jsonb to_milliseconds to_multi_byte
    to_nchar to_nclob to_number to_numeric to_object to_seconds to_single_byte to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_timestamp_tz to_tsquery to_tsvector to_unix_timestamp to_unixtime
    to_utc_timestamp to_utf8 to_varchar to_variant to_vector to_xml to_yminterval todate todatetime
    todatetimeoffset tofloat64 toint32 tomonth topk tostartofday tostartofmonth tostartofweek tostring total
    total_changes tounixtimestamp toyear transaction_timestamp transform translate trim trim_array
    trim_scale trunc truncate try_add try_base64_decode_string try_cast try_convert try_divide
    try_element_at try_hex_decode_string try_multiply try_parse try_parse_json try_subtract try_variant_get
    ts_delete ts_filter ts_headline ts_rank ts_rank_cd tsquery tsquery_phrase tsrange tstzrange tsvector
    tsvector_to_array tumble typename typeof tz_offset ucase unaccent uncompress uncompressed_length unhex
    unicode uniform uniq uniqexact unistr unix_date unix_micros unix_millis unix_seconds unix_timestamp
    unixepoch unlikely unnest unpack unpivot upper upper_inc upper_inf userid utc_date utc_time
    utc_timestamp uuid uuid_generate_v1 uuid_generate_v4 uuid_nil uuid_short uuid_string uuid_to_bin uuidv4
    uuidv7 value values var var_pop var_samp varchar variance variance_pop variance_samp varp vec
    vector_cosine_similarity vector_inner_product vector_l2_distance websearch_to_tsquery week weekday
    weekiso weekofyear weeks weight_string width_bucket window_end window_start winsorize within
    within_group word_similarity xmlagg year yearofweek yearofweekiso years yearweek zeroblob zeroifnull zip
    zip_with zipf zscore
    """
)


def forbidden_rule(name: str) -> str | None:
    """The rule that a call of this (lower case, perhaps qualified) name breaks."""
    rule = FORBIDDEN.get(name)
    if rule is None and name.startswith(_PREFIX_STARTS):
        return next((rule for prefix, rule in FORBIDDEN_PREFIXES if name.startswith(prefix)), None)
    return rule


_PREFIX_STARTS: Final = tuple(prefix for prefix, _ in FORBIDDEN_PREFIXES)


def is_pure(name: str) -> bool:
    return name in PURE or name in SERVER_FACTS or name.startswith(PURE_PREFIXES)
