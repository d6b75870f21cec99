/** Keys of LiteLLM's that are no settings of ours: what becomes of them. */

export interface KnownNames {
  /** Features that are not built yet. */
  readonly notBuilt: ReadonlySet<string>;
  /** Nothing to do: it is so already, or there is nothing here that it could switch off. */
  readonly fulfilled: ReadonlySet<string>;
  /** They keep somebody out: to start without them would open what was closed. */
  readonly protecting: ReadonlySet<string>;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''));

const none: ReadonlySet<string> = new Set();

export const knownTopNames: KnownNames = {
  notBuilt: words(
    'callback_settings mcp_servers mcp_tools guardrails prompts vector_store_registry search_tools agent_list',
  ),
  fulfilled: none,
  protecting: none,
};

export const knownEntryNames: KnownNames = {
  notBuilt: words('tpm rpm max_parallel_requests model_alias cache fallbacks'),
  fulfilled: none,
  protecting: none,
};

/** Only what is no parameter of a request: everything else goes upstream. */
export const knownParamsNames: KnownNames = {
  notBuilt: words(`
    rpm tpm order max_retries num_retries cooldown_time max_parallel_requests fallbacks api_version tags cache caching
    mock_response mock_timeout mock_tool_calls max_budget budget_duration retry_policy allowed_fails_policy default_api_key_tpm_limit
    default_api_key_rpm_limit auto_router_config auto_router_config_path auto_router_default_model auto_router_embedding_model
    max_file_size_mb input_cost_per_token output_cost_per_token input_cost_per_second output_cost_per_second
    input_cost_per_character output_cost_per_character cache_read_input_token_cost cache_creation_input_token_cost
    merge_reasoning_content_in_choices complexity_router_config
    region_name aws_access_key_id aws_secret_access_key aws_session_token aws_region_name aws_session_name aws_profile_name
    aws_role_name aws_web_identity_token aws_sts_endpoint aws_bedrock_runtime_endpoint vertex_project vertex_location vertex_credentials
    azure_ad_token azure_username azure_password azure_scope tenant_id client_id client_secret watsonx_region_name
    s3_bucket_name gcs_bucket_name litellm_trace_id configurable_clientside_auth_params hf_model_name force_timeout
    guardrails vector_store_ids use_chat_completions_api use_litellm_proxy text_completion disable_add_transform_inline_image_block
  `),
  fulfilled: words('litellm_call_id litellm_logging_obj no-log no_log metadata_redaction acompletion'),
  protecting: none,
};

export const knownSettingsNames: KnownNames = {
  notBuilt: words(`
    num_retries fallbacks context_window_fallbacks content_policy_fallbacks default_fallbacks allowed_fails cooldown_time callbacks
    success_callback failure_callback service_callback audit_log_callbacks input_callback cache cache_params caching force_ipv4
    modify_params enable_json_schema_validation default_team_settings default_internal_user_params default_team_params
    max_budget budget_duration max_internal_user_budget internal_user_budget_duration max_end_user_budget upperbound_key_generate_params
    default_key_generate_params key_generation_settings add_function_to_prompt retry disable_end_user_cost_tracking
    disable_copilot_system_to_assistant langfuse_default_tags langfuse_prompt_version_tag s3_callback_params guardrails
    token_counter s3_path drop_unmapped_params model_alias_map custom_provider_map
    public_model_groups public_model_groups_links credential_list prometheus_metrics_config prometheus_initialize_budget_metrics
    custom_prometheus_metadata_labels custom_prometheus_tags tag_budget_config ssl_security_level ssl_ecdh_curve
    max_ui_session_budget enable_end_user_cost_tracking_prometheus_only network_mock cors user_url_validation
    priority_reservation disable_hf_tokenizer_download enable_loadbalancing_on_batch_endpoints include_cost_in_streaming_usage
    enable_caching_on_provider_specific_optional_params
  `),
  fulfilled: words(`
    telemetry turn_off_message_logging redact_user_api_key_info redact_messages_in_exceptions disable_streaming_logging
    suppress_debug_info log_raw_request_response return_response_headers require_auth_for_metrics_endpoint store_audit_logs
    disable_add_user_agent_to_request_tags forward_traceparent_to_llm_provider extra_spend_tag_headers
  `),
  protecting: none,
};

export const knownGeneralNames: KnownNames = {
  notBuilt: words(`
    completion_model max_parallel_requests global_max_parallel_requests background_health_checks health_check_interval health_check_details
    health_check_concurrency database_url database_connection_pool_limit database_connection_timeout store_model_in_db
    store_prompts_in_spend_logs maximum_spend_logs_retention_period maximum_spend_logs_retention_interval allow_requests_on_db_unavailable
    pass_through_endpoints enforce_user_param litellm_key_header_name user_header_name user_header_mappings reject_clientside_metadata_tags
    alerting alerting_threshold alert_types alert_to_webhook_url alerting_args proxy_budget_rescheduler_min_time
    proxy_budget_rescheduler_max_time proxy_batch_write_at proxy_batch_polling_interval use_redis_transaction_buffer spend_report_frequency
    key_management_system key_management_settings use_google_kms use_azure_key_vault litellm_jwtauth litellm_license
    infer_model_from_keys custom_key_generate custom_sso custom_ui_sso_sign_in_handler ui_access_mode default_team_disabled public_routes
    admin_only_routes service_account_settings image_generation_model moderation_model embedding_model control_plane_url
    search_api supported_db_objects mcp_internal_ip_ranges enable_public_model_hub use_x_forwarded_for
    token_rate_limit_type enable_health_check_routing health_check_staleness_threshold
  `),
  fulfilled: words(`
    disable_spend_logs disable_error_logs disable_spend_updates disable_master_key_return disable_retry_on_max_parallel_request_limit_error
    disable_reset_budget disable_adding_master_key_hash_to_db disable_responses_id_security enable_client_side_credentials
    disable_prisma_schema_update run_thread telemetry disable_env_credential_login disable_auto_add_proxy_admin_to_teams
  `),
  protecting: words(`
    custom_auth custom_auth_settings enable_jwt_auth enable_oauth2_auth enable_oauth2_proxy_auth allowed_routes allowed_ips
  `),
};

export const knownRouterNames: KnownNames = {
  notBuilt: words(`
    routing_strategy routing_strategy_args num_retries max_retries allowed_fails cooldown_time disable_cooldowns retry_policy model_group_retry_policy
    allowed_fails_policy fallbacks default_fallbacks context_window_fallbacks content_policy_fallbacks max_fallbacks retry_after
    enable_pre_call_checks optional_pre_call_checks redis_host redis_password redis_port redis_url redis_db cache_responses cache_kwargs
    caching_groups client_ttl default_max_parallel_requests default_priority default_litellm_params polling_interval provider_budget_config
    alerting_config assistants_config enable_tag_filtering router_general_settings deployment_affinity_ttl_seconds search_tools
    guardrail_list model_group_affinity_config ignore_invalid_deployments tag_filtering_match_any health_check_staleness_threshold
    enable_health_check_routing
  `),
  fulfilled: words('debug_level set_verbose'),
  protecting: none,
};

/** Parameters of vLLM's, SGLang's and others' that OpenAI does not have and that are common among the params: they go upstream. */
export const upstreamParameters: ReadonlySet<string> = words(`
  top_k min_p top_a typical_p repetition_penalty length_penalty use_beam_search best_of min_tokens ignore_eos stop_token_ids
  include_stop_str_in_output skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens prompt_logprobs
  guided_json guided_regex guided_choice guided_grammar guided_decoding_backend guided_whitespace_pattern structured_outputs
  chat_template chat_template_kwargs add_generation_prompt continue_final_message add_special_tokens documents echo bad_words
  enable_thinking thinking_budget reasoning_split mm_processor_kwargs priority cache_salt kv_transfer_params lora_path regex ebnf
  separate_reasoning provider transforms models route plugins usage reasoning include_reasoning keep_alive num_ctx num_predict mirostat
`);

/** LiteLLM's providers that do not speak OpenAI's API: to send OpenAI's bodies there would help nobody. */
export const foreignProviders: ReadonlySet<string> = words(`
  azure azure_text azure_ai anthropic anthropic_text bedrock bedrock_converse sagemaker sagemaker_chat vertex_ai vertex_ai_beta gemini
  palm cohere cohere_chat replicate huggingface ollama ollama_chat watsonx watsonx_text ai21 ai21_chat aleph_alpha nlp_cloud
  predibase petals baseten clarifai cloudflare maritalk triton oobabooga custom voyage infinity
  deepgram elevenlabs assemblyai aws_polly runwayml recraft topaz snowflake oci sap langgraph dotprompt github_copilot chatgpt
  text-completion-codestral vllm
`);
