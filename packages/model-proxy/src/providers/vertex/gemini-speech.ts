/**
 * Speech of Gemini. The audio comes as base64 in JSON: samples without a WAV header.
 * @see https://cloud.google.com/text-to-speech/docs/gemini-tts
 * @see https://ai.google.dev/gemini-api/docs/speech-generation
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import type { DialectEndpoint } from '../dialect.js';
import { jsonMembers, memberValue } from '../request-members.js';

/** Size of the header of a WAV file. */
const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;
/** Samples per second, if the media type of the audio has no rate. */
const DEFAULT_RATE = 24_000;

/**
 * Returns a WAV file.
 * @param samples one channel of 16 bits, little-endian.
 * @param rate samples per second.
 * @see http://soundfile.sapp.org/doc/WaveFormat/
 */
function wavFile(samples: Buffer, rate: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(HEADER_BYTES - 8 + samples.length, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(BYTES_PER_SAMPLE * 8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** OpenAI's voices → Gemini's, as in LiteLLM. All other names go to Gemini unchanged. */
const voices: ReadonlyMap<unknown, string> = new Map([
  ['alloy', 'Kore'],
  ['ash', 'Iapetus'],
  ['ballad', 'Algieba'],
  ['cedar', 'Achird'],
  ['coral', 'Sulafat'],
  ['echo', 'Charon'],
  ['fable', 'Umbriel'],
  ['marin', 'Despina'],
  ['onyx', 'Orus'],
  ['sage', 'Vindemiatrix'],
  ['shimmer', 'Achernar'],
  ['verse', 'Puck'],
]);

/** Returns the endpoint. The client gets a WAV file. @param path the path of `generateContent`. */
export const geminiSpeech = (path: string): DialectEndpoint => ({
  path: () => path,
  request: (members) => {
    const format = memberValue(members, 'response_format') ?? 'wav';
    if (format !== 'wav') throw invalidParameter('response_format', 'must be wav for this model');
    const instructions = textOf(memberValue(members, 'instructions'));
    const text = textOf(memberValue(members, 'input')) ?? '';
    const given = memberValue(members, 'voice');
    const voiceName = voices.get(given) ?? given;
    return new Map(
      jsonMembers({
        contents: [{ role: 'user', parts: [{ text: instructions === undefined ? text : `${instructions}: ${text}` }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } },
        },
      }),
    );
  },
  answer: (value) => {
    const [candidate] = recordsOf(recordOf(value)?.['candidates']);
    const [part] = recordsOf(recordOf(candidate?.['content'])?.['parts']);
    const { mimeType, data } = recordOf(part?.['inlineData']) ?? {};
    const audio = textOf(data);
    if (audio === undefined) throw new Error('the answer has no audio');
    const rate = Number(/rate=(\d{4,6})/.exec(textOf(mimeType) ?? '')?.[1] ?? DEFAULT_RATE);
    return { bytes: wavFile(Buffer.from(audio, 'base64'), rate), contentType: 'audio/wav' };
  },
});
