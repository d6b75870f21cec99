import { describe, expect, it } from '@jest/globals';
import { RedfishError, refuse, renderError } from './errors.js';
import { message, renderMessage } from './messages.js';

describe('RedfishError', () => {
  it('takes status and text from the message', () => {
    const error = refuse('ResourceNotFound', 'ComputerSystem', 'x');
    expect([error.status, error.message, error.headers]).toEqual([404, "There is no ComputerSystem named 'x'.", {}]);
  });

  it('keeps the cause for the log', () => {
    const cause = new Error('socket closed');
    expect(new RedfishError(500, [message('InternalError')], {}, cause).cause).toBe(cause);
  });
});

describe('renderError', () => {
  it('names the message itself when there is one', () => {
    const only = message('PropertyUnknown', 'Foo');
    expect(renderError([only])).toEqual({
      error: {
        code: 'Base.1.22.PropertyUnknown',
        message: 'This resource has no property Foo.',
        '@Message.ExtendedInfo': [renderMessage(only)],
      },
    });
  });

  it('lists 50 faults, then that there are more', () => {
    const faults = Array.from({ length: 60 }, (_, index) => message('QueryParameterUnsupported', `$${index}`));
    const listed = new RedfishError(501, faults).messages;
    expect([listed.length, listed[50]]).toEqual([51, message('MaximumErrorsExceeded')]);
    expect(new RedfishError(501, listed).messages).toEqual(listed);
  });

  it('says GeneralError when there are several, and lists them all', () => {
    const several = [message('PropertyUnknown', 'Foo'), message('PropertyMissing', 'Bar')];
    expect(renderError(several)).toEqual({
      error: {
        code: 'Base.1.22.GeneralError',
        message: 'The request failed; @Message.ExtendedInfo says why.',
        '@Message.ExtendedInfo': several.map(renderMessage),
      },
    });
  });
});
