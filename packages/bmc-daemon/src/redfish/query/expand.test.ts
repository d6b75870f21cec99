import { describe, expect, it } from '@jest/globals';
import { DriverError } from '../../drivers/driver-error.js';
import { LinkReader } from './expand.js';
import { ExpansionBudget } from './expansion-budget.js';

const uris = Array.from({ length: 100 }, (_, index) => `/redfish/v1/Systems/${index + 1}`);

/** Returns a reader of machines of which only some answer, and the URIs that it has read. */
function readerOf(answers: (uri: string) => boolean, silentMs: number) {
  const asked: string[] = [];
  const read = async (uri: string) => {
    asked.push(uri);
    await new Promise(setImmediate);
    if (!answers(uri)) throw new DriverError('unavailable', 'reading it: no answer');
    return { '@odata.id': uri };
  };
  return { asked, reader: new LinkReader(read, new AbortController().signal, new ExpansionBudget({ silentMs })) };
}

describe('a reader of links', () => {
  it('fails with 503 after the first batch if no link can be read and the host does not answer', async () => {
    const { asked, reader } = readerOf(() => false, 0);
    await expect(reader.readAll(uris)).rejects.toMatchObject({ status: 503 });
    expect(asked).toHaveLength(8);
  });

  it('keeps what it has read, and soon stops reading, if the host stops answering', async () => {
    const { asked, reader } = readerOf(() => asked.length <= 8, 0);
    const resources = await reader.readAll(uris);
    expect(asked).toHaveLength(16);
    expect(resources.slice(0, 8)).toEqual(uris.slice(0, 8).map((uri) => ({ '@odata.id': uri })));
    expect(resources[99]).toEqual({
      '@odata.id': uris[99],
      '@Message.ExtendedInfo': [
        expect.objectContaining({ Message: expect.stringContaining('Not read, because earlier reads waited') }),
      ],
    });
    expect(reader.failures.size).toBe(92);
  });

  it('reads all links if the reads fail at once', async () => {
    const { asked, reader } = readerOf((uri) => uri === uris[99], 60_000);
    expect((await reader.readAll(uris))[99]).toEqual({ '@odata.id': uris[99] });
    expect(asked).toHaveLength(100);
  });
});
