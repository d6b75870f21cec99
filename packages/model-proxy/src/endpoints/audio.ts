import { defineEndpoint } from './endpoint.js';

/**
 * Speech to text. The request is a form with the recording.
 * @see https://platform.openai.com/docs/api-reference/audio
 */
export const transcriptions = defineEndpoint({
  path: 'audio/transcriptions',
  mode: 'audio_transcription',
  requestBody: 'multipart',
  answersJson: false,
});

/** Speech to English text. The request is the same as for {@link transcriptions}. */
export const translations = defineEndpoint({
  path: 'audio/translations',
  mode: 'audio_transcription',
  requestBody: 'multipart',
  answersJson: false,
});

/** Text to speech. The answer is audio. */
export const speech = defineEndpoint({
  path: 'audio/speech',
  mode: 'audio_speech',
  requiredParameter: 'input',
  answersJson: false,
});
