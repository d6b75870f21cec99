import { describe, expect, it } from '@jest/globals';
import { html } from './html.js';

describe('html', () => {
  it('escapes values in text and in attributes', () => {
    expect(html`<a title="${'"><script>'}">${"Tom & 'Jerry'"}</a>`.text).toBe(
      '<a title="&quot;&gt;&lt;script&gt;">Tom &amp; &#39;Jerry&#39;</a>',
    );
  });

  it('replaces the control characters that HTML forbids or that terminals execute', () => {
    expect(html`<b>${'\u001b[31m\u009b2J\u0000\u007f\r a\tb\nc'}</b>`.text).toBe(
      '<b>\ufffd[31m\ufffd2J\ufffd\ufffd\ufffd a\tb\nc</b>',
    );
  });

  it('inserts Html objects and numbers unchanged, and joins lists', () => {
    expect(html`<p>${[html`<b>${'<'}</b>`, 1, ['&']]}</p>`.text).toBe('<p><b>&lt;</b>1&amp;</p>');
  });
});
