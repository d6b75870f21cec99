import { defineEndpoint } from './endpoint.js';

/** Speech to text: a form with the recording. @see https://platform.openai.com/docs/api-reference/audio */
export const transcriptions = defineEndpoint({
  path: 'audio/transcriptions',
  mode: 'audio_transcription',
  requestBody: 'multipart',
  answersJson: false,
});

/** As transcriptions, into English. */
export const translations = defineEndpoint({
  path: 'audio/translations',
  mode: 'audio_transcription',
  requestBody: 'multipart',
  answersJson: false,
});

/** Text to speech; the answer is sound. */
export const speech = defineEndpoint({
  path: 'audio/speech',
  mode: 'audio_speech',
  requiredParameter: 'input',
  answersJson: false,
});
