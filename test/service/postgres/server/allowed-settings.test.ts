import { describe, expect, it, test } from "vitest";
import { forbiddenSetting } from "../../../../src/service/postgres/server/allowed-settings.ts";

describe("the settings of a compute", () => {
  test.each([
    "archive_command",
    "restore_command",
    "ssl_passphrase_command",
    "shared_preload_libraries",
    "local_preload_libraries",
    "session_preload_libraries",
    "dynamic_library_path",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "hba_file",
    "ident_file",
    "data_directory",
    "config_file",
    "log_directory",
    "log_filename",
    "password_encryption",
    "max_connections",
    "shared_buffers",
    "primary_conninfo",
    "fsync",
    "full_page_writes",
    "zero_damaged_pages",
    "allow_system_table_mods",
    "krb_server_keyfile",
    "temp_tablespaces",
    "extension_control_path",
    "include",
    // These begin with names of settings that are allowed.
    "jit_provider",
    "search_path_of_mine",
    // Its file would have the content that a client wants.
    "track_commit_timestamp",
    // A plan of two tables would take days, also in a session of the service.
    "geqo_generations",
    "geqo_pool_size",
    // Without it each session counts as active, and the compute never suspends.
    "track_activities",
    // In lower case its first letter, KELVIN SIGN, would be k.
    "wor\u212a_mem",
    "work_mem\n",
  ])("cannot name %s", (name) => {
    expect(forbiddenSetting({ work_mem: "1MB", [name]: "x" })).toBe(name);
  });

  it("may shape queries, also in capitals", () => {
    expect(forbiddenSetting({ work_mem: "1MB", Statement_Timeout: "5s", DateStyle: "ISO" })).toBeUndefined();
  });
});
