/** The English texts of failures. */
export const redfishTexts = {
  unreachable: 'The service does not answer. Check that it runs and that this computer reaches it.',
  status: (status: number, text: string) => `The service answered ${status} ${text}`.trim(),
  changedMeanwhile: 'Another client changed this meanwhile. Load it again, then repeat your change.',
  unreadMachines: (machines: number) =>
    `The service could not read ${machines === 1 ? '1 machine' : `${machines} machines`}. The page shows the last state that it knows.`,
};
