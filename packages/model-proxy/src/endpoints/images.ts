import { defineEndpoint } from './endpoint.js';

/** Makes images from text. @see https://platform.openai.com/docs/api-reference/images */
export const imageGenerations = defineEndpoint({
  path: 'images/generations',
  mode: 'image_generation',
  requiredParameter: 'prompt',
});

/** Edits an image. The request is a form. */
export const imageEdits = defineEndpoint({ path: 'images/edits', mode: 'image_edit', requestBody: 'multipart' });
/** Makes variations of an image. The request is a form. */
export const imageVariations = defineEndpoint({
  path: 'images/variations',
  mode: 'image_edit',
  requestBody: 'multipart',
});
