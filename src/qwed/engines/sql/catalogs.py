"""Tables that describe the database itself, and those among them that hold credentials."""

from typing import Final

from qwed.engines.words import words

CREDENTIALS: Final = words(
    """
    pg_shadow pg_authid pg_user_mapping pg_user_mappings pg_auth_members pg_hba_file_rules pg_file_settings
    mysql.user mysql.db mysql.global_priv mysql.proxies_priv mysql.tables_priv mysql.columns_priv
    mysql.default_roles mysql.password_history
    sys.sql_logins sys.syslogins sys.server_principals sys.credentials sys.linked_logins sys.remote_logins
    master.sysxlogins sysxlogins syslogins sysusers sys.sysusers sys.user$ dba_users
    v$pwfile_users information_schema.user_privileges pg_largeobject snowflake.account_usage.users
    login_history syspassword
    """
)

_SCHEMAS: Final = frozenset(
    {"information_schema", "pg_catalog", "pg_toast", "performance_schema", "sys", "mysql", "sysibm", "syscat"}
)
_NAMES: Final = words(
    """
    sqlite_master sqlite_schema sqlite_temp_master sqlite_temp_schema sqlite_dbpage dbstat sysobjects
    syscolumns sysdatabases sysindexes syscomments systypes sysprocesses sysfiles sysservers msysobjects
    msysaccessobjects msysqueries msysrelationships all_tables all_tab_columns all_tab_cols all_objects
    all_source all_views all_col_comments all_constraints all_procedures user_tables user_tab_columns
    user_tab_cols user_objects user_source user_views user_catalog user_role_privs user_sys_privs
    user_tab_privs dba_tables dba_tab_columns dba_objects dba_source dba_views dba_role_privs dba_sys_privs
    role_sys_privs session_privs sys_context rdb$relations rdb$relation_fields rdb$fields syscat.tables
    innodb_table_stats
    """
)
_PREFIXES: Final = ("pg_", "v$", "gv$", "x$", "rdb$", "mon$", "pragma_")
# An everyday table may well begin like this.
_EVERYDAY: Final = ("pg_rating", "pg_ratings", "pg_13", "pg_count", "pg_number")


def holds_credentials(name: str, qualified: str) -> bool:
    """`name` is the table's own, `qualified` has its schema before it; both lower case."""
    return qualified in CREDENTIALS or (name in CREDENTIALS and "." not in name)


def is_system_catalog(name: str, schema: str) -> bool:
    if schema in _SCHEMAS or name in _NAMES or (schema == "master" and name.startswith("sys")):
        return True
    return name.startswith(_PREFIXES) and name not in _EVERYDAY
