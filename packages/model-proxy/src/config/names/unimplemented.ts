/**
 * LiteLLM's settings that this proxy does not implement, and how it treats each of them. The
 * faults, the warnings and docs/reference/model-proxy-configuration.md come from this table. The
 * names are those of LiteLLM 1.109.
 */

/**
 * Treatment of a setting. `refused` prevents the start, because the proxy would be more open than
 * the file says; `start_without` allows the start. `ignored` logs a warning. `fulfilled` needs no message.
 */
export type Treatment = 'refused' | 'ignored' | 'fulfilled';

/** Settings with the same treatment for the same reason. */
export interface SettingGroup {
  readonly treatment: Treatment;
  /**
   * The purpose of the settings; for fulfilled settings, why nothing is missing. Used in messages
   * and in the documentation, without a period.
   */
  readonly what: string;
  readonly names: ReadonlySet<string>;
}

const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''));
const refused = (what: string, names: string): SettingGroup => ({ treatment: 'refused', what, names: namesIn(names) });
const ignored = (what: string, names: string): SettingGroup => ({ treatment: 'ignored', what, names: namesIn(names) });
const fulfilled = (what: string, names: string): SettingGroup => ({
  treatment: 'fulfilled',
  what,
  names: namesIn(names),
});

const LIMITS = 'limits requests or tokens';
const BUDGETS = 'limits spending';
const GUARDS = 'checks prompts and answers';
const RETRIES = 'repeats requests or sends them to other deployments';

/** Top level. protective-values.ts decides about `guardrails` and `callbacks` by their values. */
const top: readonly SettingGroup[] = [
  refused(GUARDS, 'policies policy_attachments'),
  ignored(
    'adds a service that is not implemented',
    `mcp_servers mcp_tools prompts vector_store_registry search_tools agent_list files_settings finetune_settings
    worker_registry mcp_aliases tools`,
  ),
  ignored('sets default parameters of all deployments', 'default_litellm_params'),
];

const entry: readonly SettingGroup[] = [
  ignored('sets an option that is not implemented', 'model_alias cache fallbacks'),
];

/** Settings of `litellm_params`. Parameters of requests go upstream, so only `max_retries` of them is in this table. */
const params: readonly SettingGroup[] = [
  refused(LIMITS, 'default_api_key_tpm_limit default_api_key_rpm_limit max_file_size_mb max_requests_per_minute'),
  refused(BUDGETS, 'max_budget budget_duration'),
  refused(GUARDS, 'guardrails'),
  ignored(RETRIES, 'max_retries fallbacks retry_policy allowed_fails_policy'),
  ignored(
    'is for a provider that is not implemented',
    `azure_username
    azure_password watsonx_region_name s3_bucket_name gcs_bucket_name hf_model_name`,
  ),
  ignored(
    'sets prices by time or by characters',
    `input_cost_per_second output_cost_per_second input_cost_per_character
    output_cost_per_character`,
  ),
  ignored(
    'sets an option that is not implemented',
    `tags cache caching mock_response mock_timeout mock_tool_calls auto_router_config auto_router_config_path auto_router_default_model
    auto_router_embedding_model merge_reasoning_content_in_choices complexity_router_config complexity_router_default_model
    litellm_trace_id configurable_clientside_auth_params force_timeout vector_store_ids use_chat_completions_api use_litellm_proxy
    text_completion disable_add_transform_inline_image_block`,
  ),
  fulfilled(
    'only `--detailed_debug` logs content of requests',
    'litellm_call_id litellm_logging_obj no-log no_log metadata_redaction acompletion',
  ),
];

const settings: readonly SettingGroup[] = [
  refused(
    BUDGETS,
    `max_budget budget_duration max_user_budget max_internal_user_budget internal_user_budget_duration max_end_user_budget
    max_end_user_budget_id tag_budget_config default_max_internal_user_budget budget_exceeded_throttle_percentage
    block_requests_for_models_without_pricing`,
  ),
  refused(LIMITS, 'priority_reservation priority_reservation_settings'),
  refused(
    'rejects clients or prompts',
    'blocked_user_list banned_keywords_list validate_end_user_id_in_db prompt_injection_params pre_call_rules post_call_rules',
  ),
  refused(GUARDS, 'llm_guard_mode output_parse_pii presidio_ad_hoc_recognizers azure_content_safety_params'),
  ignored(RETRIES, 'retry num_retries_per_request model_fallbacks'),
  ignored(
    'reports requests to other services',
    `success_callback failure_callback service_callback audit_log_callbacks input_callback s3_callback_params s3_path
    langfuse_default_tags langfuse_prompt_version_tag langsmith_batch_size aws_sqs_callback_params datadog_params
    allow_dynamic_callback_disabling prometheus_metrics_config prometheus_initialize_budget_metrics custom_prometheus_metadata_labels
    custom_prometheus_tags enable_end_user_cost_tracking_prometheus_only`,
  ),
  ignored(
    'sets an option that is not implemented',
    `forward_traceparent_to_llm_provider cache cache_params caching force_ipv4 modify_params enable_json_schema_validation add_function_to_prompt
    disable_copilot_system_to_assistant token_counter drop_unmapped_params model_alias_map custom_provider_map public_model_groups
    public_model_groups_links credential_list ssl_security_level ssl_ecdh_curve network_mock disable_hf_tokenizer_download
    enable_loadbalancing_on_batch_endpoints include_cost_in_streaming_usage enable_caching_on_provider_specific_optional_params
    default_team_settings vertex_project vertex_location vertex_ai_safety_settings model_group_settings enable_azure_ad_token_refresh
    extra_spend_tag_headers global_prompt_directory check_provider_endpoint add_user_information_to_llm_headers forward_llm_provider_auth_headers cors`,
  ),
  ignored(
    'sets defaults and limits of new keys',
    `upperbound_key_generate_params default_key_generate_params key_generation_settings enable_key_alias_format_validation
    key_alias_pattern`,
  ),
  fulfilled(
    'there are no users and teams, and a login to the console creates no key',
    'default_internal_user_params default_team_params max_ui_session_budget',
  ),
  fulfilled(
    'only `--detailed_debug` logs content of requests, and reports have none',
    `telemetry redact_user_api_key_info redact_messages_in_exceptions disable_streaming_logging
    suppress_debug_info log_raw_request_response store_audit_logs disable_end_user_cost_tracking 
    disable_add_user_agent_to_request_tags global_disable_no_log_param standard_logging_payload_excluded_fields`,
  ),
  fulfilled('the proxy fetches no URL from a request', 'user_url_validation user_url_allowed_hosts'),
  fulfilled('the proxy already does this', 'return_response_headers'),
];

const general: readonly SettingGroup[] = [
  refused(
    'authenticates clients',
    `custom_auth custom_auth_settings custom_auth_run_common_checks enable_jwt_auth litellm_jwtauth enable_oauth2_auth
    enable_oauth2_proxy_auth oauth2_config_mappings role_permissions enforce_rbac`,
  ),
  refused(
    LIMITS,
    `max_file_size_mb max_batch_file_size_mb max_batch_file_records max_batch_file_uploads_per_day max_file_downloads_per_minute`,
  ),
  refused('restricts what clients may send', 'enforced_params allowed_file_extensions blocked_file_extensions'),
  ignored(
    'stores keys, users and models in a database',
    `database_url database_connection_pool_limit database_connection_timeout database_type database_args store_model_in_db
    store_prompts_in_spend_logs maximum_spend_logs_retention_interval disable_spend_logs disable_spend_updates
    allow_requests_on_db_unavailable supported_db_objects proxy_batch_write_at proxy_batch_polling_interval
    proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time use_redis_transaction_buffer spend_report_frequency
    coordination_redis user_api_key_cache_ttl`,
  ),
  ignored(
    'reads keys from a secret store',
    'key_management_system key_management_settings use_google_kms use_azure_key_vault',
  ),
  ignored('sends notifications', 'alerting_threshold alert_to_webhook_url alerting_args otel'),
  ignored('shares the results of checks among proxies', 'use_shared_health_check'),
  ignored(
    'opens paths or other access, which stays closed',
    `pass_through_endpoints public_routes litellm_key_header_name user_header_name user_header_mappings enable_client_side_credentials
    allow_client_side_credentials forward_llm_provider_auth_headers forward_openai_org_id enable_public_model_hub
    mcp_client_side_auth_header_name infer_model_from_keys`,
  ),
  ignored(
    'sets an option that is not implemented',
    `completion_model image_generation_model moderation_model embedding_model litellm_license custom_key_generate custom_sso
    custom_ui_sso_sign_in_handler control_plane_url search_api service_account_settings token_rate_limit_type UI_USERNAME
    UI_PASSWORD fail_closed_rate_limit_enforcement cancel_on_disconnect`,
  ),
  fulfilled(
    'there are no teams, and the console has no other modes',
    'ui_access_mode default_team_disabled mcp_internal_ip_ranges',
  ),
  fulfilled(
    'there is nothing to switch off',
    `disable_error_logs disable_master_key_return disable_reset_budget
    disable_retry_on_max_parallel_request_limit_error disable_adding_master_key_hash_to_db disable_responses_id_security
    disable_prisma_schema_update disable_env_credential_login disable_auto_add_proxy_admin_to_teams run_thread telemetry`,
  ),
];

const router: readonly SettingGroup[] = [
  refused(BUDGETS, 'provider_budget_config'),
  refused(GUARDS, 'guardrail_list'),
  refused('reserves deployments for some clients', 'enable_tag_filtering tag_filtering_match_any'),
  ignored(
    RETRIES,
    `max_retries enable_pre_call_checks
    ignore_invalid_deployments deployment_affinity_ttl_seconds model_group_affinity_config default_priority polling_interval`,
  ),
  ignored('sets default parameters of all deployments', 'default_litellm_params'),
  ignored(
    'caches answers, or shares state through Redis',
    'redis_host redis_password redis_port redis_url redis_db cache_responses cache_kwargs cache_params caching_groups client_ttl',
  ),
  ignored(
    'sets an option that is not implemented',
    'alerting_config assistants_config router_general_settings search_tools',
  ),
  fulfilled('`LITELLM_LOG` sets the log level', 'debug_level set_verbose'),
];

/** Variables of the environment, and of `environment_variables`. */
const environment: readonly SettingGroup[] = [
  refused('restricts which web pages may send requests', 'LITELLM_CORS_ORIGINS'),
  refused('closes paths', 'DISABLE_LLM_API_ENDPOINTS'),
  ignored(
    'stores keys, users and models in a database',
    'DATABASE_URL DIRECT_URL DATABASE_HOST STORE_MODEL_IN_DB LITELLM_SALT_KEY LITELLM_LICENSE LITELLM_CONFIG_BUCKET_NAME',
  ),
];

/** The groups of each block of the file, and those of the environment. */
export const unimplemented = { top, entry, params, settings, general, router, environment } as const;

/** Returns the group of a setting; undefined: it is not in the table. */
export function groupOf(groups: readonly SettingGroup[], name: string): SettingGroup | undefined {
  return groups.find(({ names }) => names.has(name));
}
