/**
 * The settings of Postgres that a compute may be given: those that shape queries, timeouts, logging of statements,
 * vacuum and write-ahead log. None names a command, a path, a library, a listener or a way to authenticate, and none
 * is given by the compute's size. `track_commit_timestamp` is left out: a subscriber would write times that its
 * publisher makes up into a file of the server, and a replication slot loads any file as its output plugin.
 */
const allowed: readonly string[] = `
  array_nulls autovacuum autovacuum_analyze_scale_factor autovacuum_analyze_threshold autovacuum_freeze_max_age
  autovacuum_max_workers autovacuum_multixact_freeze_max_age autovacuum_naptime autovacuum_vacuum_cost_delay
  autovacuum_vacuum_cost_limit autovacuum_vacuum_insert_scale_factor autovacuum_vacuum_insert_threshold
  autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold autovacuum_work_mem
  backend_flush_after bgwriter_delay bgwriter_flush_after bgwriter_lru_maxpages bgwriter_lru_multiplier bytea_output
  check_function_bodies checkpoint_completion_target checkpoint_timeout client_connection_check_interval
  client_encoding client_min_messages commit_delay commit_siblings constraint_exclusion cpu_index_tuple_cost
  cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction
  datestyle deadlock_timeout debug_pretty_print debug_print_parse debug_print_plan debug_print_rewritten
  default_statistics_target default_text_search_config default_toast_compression default_transaction_deferrable
  default_transaction_isolation default_transaction_read_only
  effective_cache_size effective_io_concurrency enable_async_append enable_bitmapscan enable_gathermerge
  enable_group_by_reordering enable_hashagg enable_hashjoin enable_incremental_sort enable_indexonlyscan
  enable_indexscan enable_material enable_memoize enable_mergejoin enable_nestloop enable_parallel_append
  enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join
  enable_presorted_aggregate enable_seqscan enable_sort enable_tidscan escape_string_warning extra_float_digits
  from_collapse_limit
  geqo geqo_effort geqo_generations geqo_pool_size geqo_seed geqo_selection_bias geqo_threshold
  gin_fuzzy_search_limit gin_pending_list_limit
  hash_mem_multiplier hot_standby_feedback
  idle_in_transaction_session_timeout idle_session_timeout intervalstyle
  jit jit_above_cost jit_inline_above_cost jit_optimize_above_cost join_collapse_limit
  lock_timeout log_autovacuum_min_duration log_checkpoints log_connections log_disconnections log_duration
  log_error_verbosity log_executor_stats log_lock_waits log_min_duration_sample log_min_duration_statement
  log_min_error_statement log_min_messages log_parameter_max_length log_parameter_max_length_on_error
  log_parser_stats log_planner_stats log_recovery_conflict_waits log_replication_commands log_statement
  log_statement_sample_rate log_statement_stats log_temp_files log_transaction_sample_rate logical_decoding_work_mem
  maintenance_io_concurrency maintenance_work_mem max_locks_per_transaction max_parallel_maintenance_workers
  max_parallel_workers max_parallel_workers_per_gather max_pred_locks_per_page max_pred_locks_per_relation
  max_pred_locks_per_transaction max_prepared_transactions max_standby_archive_delay max_standby_streaming_delay
  max_wal_size min_parallel_index_scan_size min_parallel_table_scan_size min_wal_size
  parallel_leader_participation parallel_setup_cost parallel_tuple_cost plan_cache_mode
  quote_all_identifiers
  random_page_cost recursive_worktable_factor row_security
  search_path seq_page_cost standard_conforming_strings statement_timeout
  synchronize_seqscans synchronous_commit
  temp_buffers timezone track_activities track_activity_query_size
  track_functions track_io_timing track_wal_io_timing transaction_timeout transform_null_equals
  vacuum_buffer_usage_limit vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit
  vacuum_cost_page_miss vacuum_failsafe_age vacuum_freeze_min_age vacuum_freeze_table_age
  vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age
  wal_compression wal_writer_delay wal_writer_flush_after work_mem xmlbinary xmloption
`
  .trim()
  .split(/\s+/);

const names = new Set(allowed);

/** The first setting that a compute may not have; `undefined` where it may have all. */
export function forbiddenSetting(settings: Readonly<Record<string, string>>): string | undefined {
  return Object.keys(settings).find((name) => !names.has(name.toLowerCase()));
}
