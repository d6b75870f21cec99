/** The English texts of forms whose resource another client may change meanwhile. */
export const draftTexts = {
  changed: 'Another client changed this while you edited it. Your input is kept.',
  change: (field: string, before: string, now: string) => `${field}: ${before} → ${now}.`,
  yours: (value: string) => `Your input: ${value}.`,
  other: 'Another client changed other properties of this resource. Save again to apply your input.',
  keep: 'Keep my input',
  useNewValues: 'Use the new values',
  discard: 'Discard',
  lost: 'The changes that you have not saved',
  none: 'nothing',
};
