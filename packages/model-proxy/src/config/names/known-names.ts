/** Lists of names: parameters that only some servers have, and LiteLLM's providers that the proxy cannot serve. */

const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''));

/**
 * Parameters that vLLM, SGLang and other servers have, but OpenAI's API does not have. Such parameters in
 * `litellm_params` are sent upstream.
 */
export const upstreamParameters: ReadonlySet<string> = namesIn(`
  top_k min_p top_a typical_p repetition_penalty length_penalty use_beam_search best_of min_tokens ignore_eos stop_token_ids
  include_stop_str_in_output skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens prompt_logprobs
  guided_json guided_regex guided_choice guided_grammar guided_decoding_backend guided_whitespace_pattern structured_outputs
  chat_template chat_template_kwargs add_generation_prompt continue_final_message add_special_tokens documents echo bad_words
  enable_thinking thinking_budget reasoning_split mm_processor_kwargs priority cache_salt kv_transfer_params lora_path regex ebnf
  separate_reasoning provider transforms models route plugins usage reasoning include_reasoning keep_alive num_ctx num_predict mirostat
`);

/**
 * LiteLLM's providers that do not accept OpenAI's API and for which the proxy has no translation, so requests
 * to them would fail.
 */
export const foreignProviders: ReadonlySet<string> = namesIn(`
  azure_text anthropic_text palm
  watsonx_text aleph_alpha nlp_cloud petals clarifai oobabooga custom deepgram runwayml
  topaz oci sap dotprompt github_copilot chatgpt vllm black_forest_labs stability manus
  humanloop
  triton text-completion-codestral
`);
