/** The English texts of failures. */
export const apiTexts = {
  unreachable: 'The proxy does not answer. Check that it runs and that this computer reaches it.',
  status: (status: number, text: string) => `The proxy answered ${status} ${text}`.trim(),
  brokenStream: 'The answer is not complete.',
};
