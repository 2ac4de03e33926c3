"""Functions by name: which of them reach beyond the query, and which are known to be harmless.

A function that is in neither table may be anybody's; what it does is not known from the text.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from qwed.domain.risk import Risk
from qwed.engines.sql.words import words

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
            master_pos_wait
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

PURE_PREFIXES: Final = tuple(
    sorted(
        words(
            """
        json array_ arrays_ regexp_ regex_ date_ datetime_ timestamp_ time_ to_ parse_ format_ safe_ approx_
        approximate_ bit_ try_ is_ st_ as_ map_ list_ string_ str_ hll_ kll_quantiles. hll_count. net. keys.
        bitmap_ percentile_ regr_ covar_ stddev var_ object_ h3_ s2_ bool_ num_ range_ multirange_ ts_
        tsvector_ xml uuid_ jaro edit_distance width_ make_ extract_ from_ unix_ sha md5 hex base64 trunc
        round log grouping window_ tumble ml. geo ascii substring split_ lax_ float int vector_ cosine_ l2_
        inner_ quantile uniq sum avg count min max any group top dict fromunix tounix tostartof todate
        toyear tomonth
        """
        )
    )
)

PURE: Final = words(
    """
    abs acos acosh acosd add_months addtime aes_decrypt aes_encrypt age array arraylength asin asinh asind
    atan atan2 atanh atand atn2 bin bin_to_uuid binary_checksum bitand bitcount bitnot bitor bitshiftleft
    bitshiftright bitxor btrim bucket byte_length bm25 cast cbrt ceil ceiling char char_length
    character_length charindex chars checksum checksum_agg choose chr chunk clock_timestamp coalesce
    coercibility collation compress concat concat_ws contains conv convert convert_from convert_timezone
    convert_to convert_tz corr cos cosd cosh cot cotd crc32 cube_distance cume_dist curdate current_date
    current_time current_timestamp currval curtime date dateadd datediff datediff_big datefromparts datename
    datepart datetime datetime2fromparts datetimefromparts datetimeoffsetfromparts datetrunc day dayname
    dayofmonth dayofweek dayofyear decode decrypt degrees dense_rank diff difference digest div div0
    div0null editdist3 elt encode encrypt endswith ends_with enum_first enum_last enum_range eomonth
    equal_null erf exp explode export_set extract factorial farm_fingerprint field find_in_set first
    first_value flatten floor format found_rows from_days from_unixtime gcd gen_random_uuid generate_array
    generate_date_array generate_series generate_subscripts generate_timestamp_array generate_uuid get
    get_bit get_byte get_path getdate getutcdate getbit glob greatest grouping group_concat groupby
    haversine hash height highlight host hour ifnull iff iif inet_aton inet_ntoa inet6_aton inet6_ntoa
    initcap insert instr interval isdate isempty isfinite isnull isnumeric isjson julian julianday
    justify_days justify_hours justify_interval kurtosis lag last last_day last_insert_id last_insert_rowid
    last_value lastval lcase lcm lead least left len length levenshtein levenshtein_less_equal like
    likelihood likely list listagg ln localtime localtimestamp locate lower lpad ltrim makedate maketime
    masklen match matchinfo median metaphone dmetaphone microsecond mid minute mod mode month monthname
    monthnumber months_between nanvl nchar netmask network newid normalize now nth_value ntile nullif
    nullifzero numnode nvl nvl2 octet_length offset offsets ord parsename parse_ident patindex pct
    percent_rank period_add period_diff pg_column_size pg_size_pretty pg_typeof phraseto_tsquery pi
    plainto_tsquery position posexplode pow power previous_day next_day printf qualify quarter querytree
    quote quote_ident quote_literal quote_nullable quotename radians rand random random_bytes randn range
    rank ratio_to_report regexp reinterpret repeat replace replicate result_scan reverse right row_count
    row_number row_to_json rowcount rpad rtrim rtrimmed_length schema_name scale scope_identity sec_to_time
    second seq4 seq8 sequence session sessionize set_bit set_byte set_masklen setseed setweight sigmoid sign
    similarity sin sind sinh size skewness smalldatetimefromparts snippet sort_array soundex space split
    split_part sqrt square starts_with startswith statement_timestamp strcmp strftime strip strpos strptime
    strtok strtok_to_array struct stuff str sub subdate substr substring substring_index subtime subtype
    switchoffset sysdate sysdatetime sysdatetimeoffset systimestamp sysutcdatetime table tan tand tanh text
    time timediff timefromparts timeofday timestamp timestampadd timestampdiff timestampfromparts timezone
    to_days todatetimeoffset total total_changes changes transaction_timestamp transform translate trim
    trim_array trim_scale try_cast try_convert truncate tsrange int4range int8range numrange daterange
    tstzrange typeof typename ucase uncompress uncompressed_length unhex unicode unistr unixepoch unlikely
    unnest unpack upper utc_date utc_time utc_timestamp uuid uuidv4 uuidv7 value values var variance vec
    week weekday weekofyear weight_string weekiso width_bucket winsorize within word_similarity year
    yearofweek yearofweekiso yearweek zeroifnull zip zscore adddate add_days addhours bit_length char2hexint
    current_timezone dbtimezone sessiontimezone numtodsinterval numtoyminterval tz_offset new_time userid
    getvariable array array_agg arrayagg object_agg stringagg string_agg xmlagg json_agg jsonb_agg
    jsonb_object_agg json_object_agg every some all collect collect_list collect_set sumif countif count_if
    avgif minby maxby min_by max_by arg_min arg_max argmin argmax any_value anyvalue approxcountdistinct ndv
    uniqexact grouparray entropy mad sem histogram first_day dow isodow doy epoch epoch_ms century decade
    millennium age_in_years lower_inf upper_inf lower_inc upper_inc isempty cardinality ndims unaccent cidr
    inet family abbrev broadcast hostmask area center diameter diagonal npoints radius point box circle line
    lseg path polygon slope earth_distance ll_to_earth earth_box hstore akeys avals skeys svals each exist
    defined delete slice similar show_trgm strict_word_similarity gen_salt crypt hmac substring_similarity
    nlevel subpath subltree lca lquery ltree text2ltree ltree2text tsvector tsquery tsquery_phrase
    websearch_to_tsquery to_tsquery to_tsvector ts_rank ts_rank_cd ts_headline numeric decimal varchar
    string double bigint boolean bool date32 bytes seconds minutes hours days weeks months years
    containstable freetexttable freetext pivot unpivot rowid openjson string_split generator uniform normal
    zipf randstr seq1 seq2 bround rint sec csc sech csch coth randomblob zeroblob proper isodd iseven nulls
    iserror pmt fv pv npv irr rate mround fact combin permut
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
