/** The English texts of the frame: login, bar, menu. */
export const frameTexts = {
  product: 'model-proxy',
  logIn: 'Log in',
  logInTo: 'Log in to model-proxy',
  logInAgain: 'The proxy does not accept your key any more. Log in again',
  keptHint: 'The page behind this dialog keeps everything that you typed, and continues after the login.',
  key: 'Key',
  keyHint: 'The master key opens all pages. A virtual key opens its own models, its limits and the playground.',
  wrongKey: 'The proxy does not accept this key. It is wrong, blocked or expired.',
  logOut: 'Log out',
  admin: 'Master key',
  noLoginNeeded: 'No login needed',
  live: 'Live',
  notLive: 'Connecting …',
  starting: 'Connecting to the proxy …',
  startFailed: 'The proxy cannot be reached',
  noMasterKey:
    'No master key is configured, so everyone who reaches this page may use all models. Models and the playground work. Keys and spend need general_settings.master_key and general_settings.store.',
  noStore: 'No store is configured. Models and the playground work. Keys and spend need general_settings.store.',
  pages: { models: 'Models', playground: 'Playground', spend: 'Spend', keys: 'Keys', ownKey: 'This key' },
};
