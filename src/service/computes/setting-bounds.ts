/**
 * The bounds of Postgres's numeric settings: name, least, greatest, `real` where fractions count, and the unit. They
 * are Postgres's own, but for those with which a server could not start: what each connection takes of the shared
 * memory, processes, and the log on the disk.
 */
const bounded = `
  autovacuum_analyze_scale_factor 0 100 real
  autovacuum_analyze_threshold 0 2147483647
  autovacuum_freeze_max_age 100000 2000000000
  autovacuum_max_workers 1 64
  autovacuum_multixact_freeze_max_age 10000 2000000000
  autovacuum_naptime 1 2147483 s
  autovacuum_vacuum_cost_delay -1 100 real ms
  autovacuum_vacuum_cost_limit -1 10000
  autovacuum_vacuum_insert_scale_factor 0 100 real
  autovacuum_vacuum_insert_threshold -1 2147483647
  autovacuum_vacuum_scale_factor 0 100 real
  autovacuum_vacuum_threshold 0 2147483647
  autovacuum_work_mem -1 2147483647 kB
  backend_flush_after 0 256 8kB
  bgwriter_delay 10 10000 ms
  bgwriter_flush_after 0 256 8kB
  bgwriter_lru_maxpages 0 1073741823
  bgwriter_lru_multiplier 0 10 real
  checkpoint_completion_target 0 1 real
  checkpoint_timeout 30 86400 s
  client_connection_check_interval 0 2147483647 ms
  commit_delay 0 100000
  commit_siblings 0 1000
  cpu_index_tuple_cost 0 1e308 real
  cpu_operator_cost 0 1e308 real
  cpu_tuple_cost 0 1e308 real
  cursor_tuple_fraction 0 1 real
  deadlock_timeout 1 2147483647 ms
  default_statistics_target 1 10000
  effective_cache_size 1 2147483647 8kB
  effective_io_concurrency 0 1000
  extra_float_digits -15 3
  from_collapse_limit 1 2147483647
  geqo_effort 1 10
  geqo_seed 0 1 real
  geqo_selection_bias 1.5 2 real
  geqo_threshold 2 2147483647
  gin_fuzzy_search_limit 0 2147483647
  gin_pending_list_limit 64 2147483647 kB
  hash_mem_multiplier 1 1000 real
  idle_in_transaction_session_timeout 0 2147483647 ms
  idle_session_timeout 0 2147483647 ms
  jit_above_cost -1 1e308 real
  jit_inline_above_cost -1 1e308 real
  jit_optimize_above_cost -1 1e308 real
  join_collapse_limit 1 2147483647
  lock_timeout 0 2147483647 ms
  log_autovacuum_min_duration -1 2147483647 ms
  log_min_duration_sample -1 2147483647 ms
  log_min_duration_statement -1 2147483647 ms
  log_parameter_max_length -1 1073741823 B
  log_parameter_max_length_on_error -1 1073741823 B
  log_statement_sample_rate 0 1 real
  log_temp_files -1 2147483647 kB
  log_transaction_sample_rate 0 1 real
  logical_decoding_work_mem 64 2147483647 kB
  maintenance_io_concurrency 0 1000
  maintenance_work_mem 1024 2147483647 kB
  max_locks_per_transaction 10 1024
  max_parallel_maintenance_workers 0 1024
  max_parallel_workers 0 1024
  max_parallel_workers_per_gather 0 1024
  max_pred_locks_per_page 0 2147483647
  max_pred_locks_per_relation -2147483648 2147483647
  max_pred_locks_per_transaction 10 1024
  max_prepared_transactions 0 1000
  max_standby_archive_delay -1 2147483647 ms
  max_standby_streaming_delay -1 2147483647 ms
  max_wal_size 2 65536 MB
  min_parallel_index_scan_size 0 715827882 8kB
  min_parallel_table_scan_size 0 715827882 8kB
  min_wal_size 2 65536 MB
  parallel_setup_cost 0 1e308 real
  parallel_tuple_cost 0 1e308 real
  random_page_cost 0 1e308 real
  recursive_worktable_factor 0.001 1e6 real
  seq_page_cost 0 1e308 real
  statement_timeout 0 2147483647 ms
  temp_buffers 100 1073741823 8kB
  track_activity_query_size 100 65536 B
  transaction_timeout 0 2147483647 ms
  vacuum_buffer_usage_limit 0 16777216 kB
  vacuum_cost_delay 0 100 real ms
  vacuum_cost_limit 1 10000
  vacuum_cost_page_dirty 0 10000
  vacuum_cost_page_hit 0 10000
  vacuum_cost_page_miss 0 10000
  vacuum_failsafe_age 0 2100000000
  vacuum_freeze_min_age 0 1000000000
  vacuum_freeze_table_age 0 2000000000
  vacuum_multixact_failsafe_age 0 2100000000
  vacuum_multixact_freeze_min_age 0 1000000000
  vacuum_multixact_freeze_table_age 0 2000000000
  wal_writer_delay 1 10000 ms
  wal_writer_flush_after 0 2147483647 8kB
  work_mem 64 2147483647 kB
`;

/** Settings that are on or off. */
export const switches: readonly string[] = wordsOf(`
  array_nulls autovacuum check_function_bodies debug_pretty_print debug_print_parse debug_print_plan
  debug_print_rewritten default_transaction_deferrable default_transaction_read_only enable_async_append
  enable_bitmapscan enable_gathermerge enable_group_by_reordering enable_hashagg enable_hashjoin
  enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material enable_memoize enable_mergejoin
  enable_nestloop enable_parallel_append enable_parallel_hash enable_partition_pruning
  enable_partitionwise_aggregate enable_partitionwise_join enable_presorted_aggregate enable_seqscan enable_sort
  enable_tidscan escape_string_warning geqo hot_standby_feedback jit log_checkpoints log_disconnections
  log_duration log_executor_stats log_lock_waits log_parser_stats log_planner_stats log_recovery_conflict_waits
  log_replication_commands log_statement_stats parallel_leader_participation quote_all_identifiers row_security
  standard_conforming_strings synchronize_seqscans track_io_timing track_wal_io_timing
  transform_null_equals
`);

interface Bounds {
  least: number;
  greatest: number;
  real: boolean;
  unit: string | undefined;
}

const numbers: ReadonlyMap<string, Bounds> = new Map(
  bounded
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", least, greatest, ...more] = wordsOf(line);
      const unit = more.find((word) => word !== "real");
      return [name, { least: Number(least), greatest: Number(greatest), real: more.includes("real"), unit }];
    }),
);

/** The names of the numeric settings. */
export const numericSettings: readonly string[] = [...numbers.keys()];

/** In the smallest unit of its kind: bytes, or microseconds. */
const units: Readonly<Record<string, { kind: "memory" | "time"; factor: number }>> = {
  B: { kind: "memory", factor: 1 },
  kB: { kind: "memory", factor: 1024 },
  "8kB": { kind: "memory", factor: 8192 },
  MB: { kind: "memory", factor: 1024 ** 2 },
  GB: { kind: "memory", factor: 1024 ** 3 },
  TB: { kind: "memory", factor: 1024 ** 4 },
  us: { kind: "time", factor: 1 },
  ms: { kind: "time", factor: 1000 },
  s: { kind: "time", factor: 1_000_000 },
  min: { kind: "time", factor: 60_000_000 },
  h: { kind: "time", factor: 3_600_000_000 },
  d: { kind: "time", factor: 86_400_000_000 },
};

/** Shared memory that the settings may take together, in bytes. */
const mostSharedMemory = 512 * 1024 ** 2;

/** Shared memory that each connection takes for one unit of a setting, in bytes, and the setting's default. */
const sharedByConnection = {
  max_locks_per_transaction: { bytes: 400, usual: 64 },
  max_pred_locks_per_transaction: { bytes: 240, usual: 64 },
  track_activity_query_size: { bytes: 1, usual: 1024 },
} as const;

/** A setting's name as Postgres compares it: letters of ASCII alone lose their case. */
export function foldedName(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Reason why no server of this many connections would start with these settings; `undefined` where none is known. A
 * name that is not known here decides nothing.
 */
export function boundsProblem(settings: Readonly<Record<string, string>>, connections: number): string | undefined {
  const given = new Map<string, number | undefined>();
  for (const [name, value] of Object.entries(settings)) {
    const folded = foldedName(name);
    const problem = nameProblem(name) ?? valueProblem(folded, value);
    if (problem !== undefined) return problem;
    if (given.has(folded)) return `${folded} is given twice`;
    given.set(folded, numberOf(folded, value));
  }
  const shared = Object.entries(sharedByConnection)
    .map(([name, { bytes, usual }]) => bytes * (given.get(name) ?? usual))
    .reduce((sum, bytes) => sum + bytes, 0);
  if (shared * connections <= mostSharedMemory) return undefined;
  const names = Object.keys(sharedByConnection).join(", ");
  return `the settings ${names} take more shared memory than ${connections} connections may have: lower them`;
}

/** Values of settings that are counted by, where a compute has none of its own. */
const usual = {
  autovacuum_max_workers: 3,
  max_locks_per_transaction: sharedByConnection.max_locks_per_transaction.usual,
  track_activity_query_size: sharedByConnection.track_activity_query_size.usual,
};

/** The value of such a setting: as given in any spelling, or the usual one. */
export function settingNumber(settings: Readonly<Record<string, string>>, name: keyof typeof usual): number {
  const [, value = ""] = Object.entries(settings).find(([given]) => foldedName(given) === name) ?? [];
  return numberOf(name, value) ?? usual[name];
}

/** Names are ASCII: no letter beyond it becomes one of it (U+212A, KELVIN SIGN, in lower case is k). */
function nameProblem(name: string): string | undefined {
  if (/^[A-Za-z_][\w.$]*$/.test(name)) return undefined;
  return `${JSON.stringify(name)} is no name of a setting: letters of ASCII, digits, _, . and $`;
}

/** True if a text has a character that is none to see: of the first 32, or DEL and the 32 that follow it. */
export function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

function valueProblem(name: string, value: string): string | undefined {
  if (hasControl(value)) return `the value of ${name} has a control character`;
  const shown = `invalid value for parameter "${name}": ${JSON.stringify(value.slice(0, 100))}`;
  if (switches.includes(name)) return isSwitch(value) ? undefined : `${shown}: must be on or off`;
  const bounds = numbers.get(name);
  if (!bounds) return undefined;
  const { least, greatest, unit } = bounds;
  const number = numberOf(name, value);
  if (number !== undefined && number >= least && number <= greatest) return undefined;
  return `${shown}: must be ${least} to ${greatest}${unit === undefined ? "" : `, in units of ${unit}`}`;
}

/** A number, and the word behind it: spaces belong to one place alone, as a value may have thousands of them. */
const numberPattern =
  /^ *([+-]?(?:0x[\da-f]{1,16}|(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:e[+-]?\d{1,4})?))(?: *(\w+))? *$/i;

/** A value in the unit of its setting; `undefined` where it is no number, or has no unit of its kind. */
function numberOf(name: string, value: string): number | undefined {
  const bounds = numbers.get(name);
  const [, figure, suffix = ""] = (bounds && numberPattern.exec(value)) ?? [];
  if (!bounds || figure === undefined) return undefined;
  // A hexadecimal number with a sign is none of JavaScript's.
  const size = Number(figure.replace(/^[+-]/, ""));
  const number = figure.startsWith("-") ? -size : size;
  const inUnit = number * (suffix === "" ? 1 : ratio(suffix, bounds.unit));
  if (Number.isNaN(inUnit)) return undefined;
  return bounds.real ? inUnit : Math.round(inUnit);
}

/** Size of a unit in another one; `NaN` where they are of different kinds. */
function ratio(one: string, other: string | undefined): number {
  const [from, to] = [units[one], units[other ?? ""]];
  return from && to && from.kind === to.kind && one !== "8kB" ? from.factor / to.factor : Number.NaN;
}

function isSwitch(value: string): boolean {
  const word = value.toLowerCase();
  if (["on", "of", "off", "1", "0"].includes(word)) return true;
  return word !== "" && ["true", "false", "yes", "no"].some((whole) => whole.startsWith(word));
}

function wordsOf(text: string): string[] {
  return text.trim().split(/\s+/);
}
