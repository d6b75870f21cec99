import { defineEndpoint } from './endpoint.js';

/** Pictures from words. @see https://platform.openai.com/docs/api-reference/images */
export const imageGenerations = defineEndpoint({
  path: 'images/generations',
  mode: 'image_generation',
  requiredParameter: 'prompt',
});

/** Pictures from pictures: forms. */
export const imageEdits = defineEndpoint({ path: 'images/edits', mode: 'image_edit', requestBody: 'multipart' });
export const imageVariations = defineEndpoint({
  path: 'images/variations',
  mode: 'image_edit',
  requestBody: 'multipart',
});
