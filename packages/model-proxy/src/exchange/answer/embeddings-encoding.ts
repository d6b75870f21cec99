/** Encodes embeddings as OpenAI does for `encoding_format: base64`, which OpenAI's SDKs request. */

/**
 * Returns a translated answer with its embeddings as base64 of 32-bit floats, in little endian. Changes nothing else.
 * @param value OpenAI's list of embeddings, with lists of numbers.
 */
export function withEncodedEmbeddings(value: object): object {
  if (!('data' in value) || !Array.isArray(value.data)) return value;
  return { ...value, data: value.data.map(encoded) };
}

function encoded(element: unknown): unknown {
  if (typeof element !== 'object' || element === null || !('embedding' in element)) return element;
  const { embedding } = element;
  if (!Array.isArray(embedding)) return element;
  const bytes = Buffer.alloc(4 * embedding.length);
  embedding.forEach((number, index) => bytes.writeFloatLE(Number(number), 4 * index));
  return { ...element, embedding: bytes.toString('base64') };
}
