import { describe, expect, it } from '@jest/globals';
import { imageName, storedUrl } from './image.js';
import { storedImageName, storedImagePrefix, isStoredImageName, isPartImageName, partImageName } from './image-key.js';

const secretive = new URL('https://user:pass@host:8443/a/b%20c.iso?token=secret#part');

describe('image addresses', () => {
  it('are stored without credentials, but with the query', () => {
    expect(storedUrl(secretive)).toBe('https://host:8443/a/b%20c.iso?token=secret');
  });

  it.each([
    ['https://host/a/b%20c.iso?x', 'b c.iso'],
    ['https://host/a/', 'a'],
    ['https://host/', 'host'],
    ['https://host/100%.iso', '100%.iso'],
    ['https://host/a%00.iso', 'a%00.iso'],
    ['https://host/a%0ab', 'a%0ab'],
  ])('give the image at %s the name %j', (url, name) => expect(imageName(new URL(url))).toBe(name));
});

describe('image volumes', () => {
  const validator = { etag: '"1"', lastModified: null, sizeBytes: 5 };

  it('have names with two hexadecimal numbers, which depend on the URL and on the ETag', () => {
    const name = storedImageName('http://host/../../etc/passwd', validator);
    expect(name).toMatch(/^rackless-[0-9a-f]{16}-[0-9a-f]{16}\.iso$/);
    expect(name.startsWith(storedImagePrefix('http://host/../../etc/passwd'))).toBe(true);
    expect(storedImageName('http://host/../../etc/passwd', { ...validator, etag: '"2"' })).not.toBe(name);
    expect(storedImageName('http://host/other', validator)).not.toBe(name);
  });

  it('are distinguished from files of the user', () => {
    const name = storedImageName('http://host/x.iso', validator);
    expect([isStoredImageName(name), isPartImageName(name)]).toEqual([true, false]);
    expect([isStoredImageName(partImageName(name)), isPartImageName(partImageName(name))]).toEqual([true, true]);
    expect(['debian.iso', 'rackless-notes.iso', `my-${name}`, `${name}.bak`].filter(isStoredImageName)).toEqual([]);
  });
});
