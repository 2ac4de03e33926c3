"""Words that stand in the same place of a statement."""

from typing import Final

from qwed.engines.words import words

KINDS: Final = words(
    """
    table database schema view index user role function procedure trigger extension sequence type domain
    aggregate materialized tablespace server policy publication subscription login package synonym event rule
    """
)
BEFORE_A_KIND: Final = words(
    """
    or replace temp temporary unique materialized global local external foreign virtual unlogged recursive
    definer concurrently fulltext spatial clustered nonclustered public force editionable
    """
)
AFTER_A_KIND: Final = words("if not exists concurrently only")
PRIVILEGES: Final = words(
    """
    all select insert update delete truncate references trigger usage execute connect create dba superuser
    alter drop index control impersonate sysdba sysadmin privileges
    """
)
TABLE_CHANGES: Final = words(
    """
    add drop rename modify alter change set enable disable owner attach detach truncate reset no inherit
    exchange replica validate cluster convert engine auto_increment with switch
    """
)
USER_CHANGES: Final = words(
    """
    superuser nosuperuser createdb createrole replication bypassrls password identified login nologin valid
    account quota encrypted
    """
)
ROLES: Final = words(
    """
    admin administrator root dba owner superuser sysadmin securityadmin accountadmin sysdba db_owner postgres
    """
)
# What must follow the name where the kind alone is an everyday word: `create table tennis`.
AFTER_A_NEW: Final = {
    "table": words("( as like of partition using"),
    "view": words("( as"),
    "index": words("on ("),
    "function": words("( as returns return begin language using"),
    "procedure": words("( as is returns begin language"),
    "package": words("as is"),
    "trigger": words("on before after instead for of as execute"),
    "policy": words("on as with using add"),
    "type": words("( as from is under"),
    "aggregate": words("("),
    "synonym": words("for"),
    "subscription": words("connection"),
    "login": words("with from"),
}
# `create user story`: a thing of its own, of which the kind is only a part.
COMPOUNDS: Final = {
    "user": words("story stories guide manual account journey interface experience"),
    "role": words("play description model"),
    "database": words("design backup schema diagram"),
    "schema": words("diagram"),
    "sequence": words("diagram"),
    "domain": words("model name"),
    "extension": words("cord"),
    "publication": words("list"),
    "subscription": words("plan"),
}
# What people ask about a statement, where its table would stand.
ABOUT_A_STATEMENT: Final = words("syntax meaning tutorial explained")
MAINTAINED: Final = ABOUT_A_STATEMENT | words("mysql postgres postgresql mariadb performance layout")
TRUNCATED: Final = ABOUT_A_STATEMENT | words("text string strings decimal decimals")
ROUTINES: Final = words(
    """
    xp_cmdshell xp_regread xp_regwrite xp_regdeletekey xp_dirtree xp_fileexist xp_delete_file
    xp_servicecontrol xp_subdirs xp_create_subdir sp_configure sp_executesql sp_oacreate sp_oamethod
    sp_addlogin
    sp_addsrvrolemember sp_addrolemember sp_addlinkedserver sp_droplogin sp_dropuser sp_password sp_rename
    sp_makewebtask sp_add_job sp_add_jobstep sp_start_job sp_procoption sp_execute_external_script
    sp_addextendedproc
    """
)
GRANTED: Final = PRIVILEGES | words(", any table session view procedure user role system resource option for")
NAMED_ALONE: Final = words("user role database schema server tablespace")
AFTER_A_NAME: Final = words(
    """
    , @ . identified with password for from without default authorization owner encoding template character
    charset collate on in foreign location datafile options superuser createdb
    """
)
