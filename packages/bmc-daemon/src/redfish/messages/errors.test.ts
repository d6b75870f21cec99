import { describe, expect, it } from '@jest/globals';
import { RedfishError, redfishError, renderError } from './errors.js';
import { message, renderMessage } from './messages.js';

describe('RedfishError', () => {
  it('has the status and the text of its message', () => {
    const error = redfishError('ResourceNotFound', 'ComputerSystem', 'x');
    expect([error.status, error.message, error.headers]).toEqual([404, "There is no ComputerSystem named 'x'.", {}]);
  });

  it('keeps the cause for the log', () => {
    const cause = new Error('socket closed');
    expect(new RedfishError(500, [message('InternalError')], {}, cause).cause).toBe(cause);
  });

  it('lists at most 50 faults, followed by a message that there are more', () => {
    const faults = Array.from({ length: 60 }, (_, index) => message('QueryParameterUnsupported', `$${index}`));
    const listed = new RedfishError(501, faults).messages;
    expect([listed.length, listed[50]]).toEqual([51, message('MaximumErrorsExceeded')]);
    expect(new RedfishError(501, listed).messages).toEqual(listed);
  });
});

describe('renderError', () => {
  it('uses the id and the text of a single message', () => {
    const only = message('PropertyUnknown', 'Foo');
    expect(renderError([only])).toEqual({
      error: {
        code: 'Base.1.22.PropertyUnknown',
        message: 'This resource has no property Foo.',
        '@Message.ExtendedInfo': [renderMessage(only)],
      },
    });
  });

  it('uses the id GeneralError for several messages, and lists all of them', () => {
    const several = [message('PropertyUnknown', 'Foo'), message('PropertyMissing', 'Bar')];
    expect(renderError(several)).toEqual({
      error: {
        code: 'Base.1.22.GeneralError',
        message: 'The request failed; @Message.ExtendedInfo contains the reason.',
        '@Message.ExtendedInfo': several.map(renderMessage),
      },
    });
  });
});
