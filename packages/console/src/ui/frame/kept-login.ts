/**
 * Keeps a login in memory. The page after a reload, and further tabs of the same origin, get the
 * login too. It is in the session storage of a tab only from the end of one page to the start of
 * the next.
 */

/** A login of this tab. */
interface KeptLogin<Login> {
  /** Returns the login; null: there is none. */
  readonly current: () => Login | null;
  /**
   * Finds the login of the page before a reload, or of another tab, unless there is a current one. The login of
   * the page before a reload is the current one even before the promise resolves. Afterwards, this tab also gives its
   * login to other tabs.
   */
  readonly find: () => Promise<Login | null>;
  readonly set: (login: Login) => void;
  /** Forgets the login here only, because the service does not accept it any more. */
  readonly drop: () => void;
  /** Forgets the login here and in the other tabs. */
  readonly forget: () => void;
}

type TabMessage<Login> = { readonly kind: 'ask' | 'forgotten' } | { readonly kind: 'login'; readonly login: Login };

/** How long a new tab waits for the login of another tab, in milliseconds. */
const TAB_ANSWER_MS = 200;

/**
 * Creates a place for a login.
 * @param name the name of the storage and of the channel between tabs, such as `rackless.gateway`.
 * @param onForgotten called when another tab logs out, also if the login of this tab has ended before.
 * @param onLateAnswer called with a login that another tab sends while this tab has none: an answer that is too late,
 *   or the answer to a third tab.
 */
export function keepLogin<Login>(
  name: string,
  { onForgotten, onLateAnswer }: { readonly onForgotten: () => void; readonly onLateAnswer: (login: Login) => void },
): KeptLogin<Login> {
  const tabs = new BroadcastChannel(name);
  let login: Login | null = null;

  const takeStored = (): Login | null => {
    const text = sessionStorage.getItem(name);
    sessionStorage.removeItem(name);
    return text === null ? null : (JSON.parse(text) as Login); // written at `pagehide`
  };
  const askTabs = (): Promise<Login | null> =>
    new Promise((resolve) => {
      const finish = (found: Login | null): void => {
        clearTimeout(timer);
        tabs.removeEventListener('message', listen);
        resolve(found);
      };
      const listen = ({ data }: MessageEvent<TabMessage<Login>>): void => {
        if (data.kind === 'login') finish(data.login);
      };
      const timer = setTimeout(() => finish(null), TAB_ANSWER_MS);
      tabs.addEventListener('message', listen);
      tabs.postMessage({ kind: 'ask' });
    });
  const answerTabs = ({ data }: MessageEvent<TabMessage<Login>>): void => {
    if (data.kind === 'ask' && login !== null) tabs.postMessage({ kind: 'login', login });
    if (data.kind === 'login' && login === null) onLateAnswer(data.login);
    if (data.kind !== 'forgotten') return;
    login = null;
    onForgotten();
  };

  addEventListener('pagehide', () => {
    if (login !== null) sessionStorage.setItem(name, JSON.stringify(login));
  });
  // A page that the browser restores from its cache has the login in memory, so this removes the stored one.
  addEventListener('pageshow', (event) => {
    if (event.persisted) takeStored();
  });
  return {
    current: () => login,
    async find() {
      login ??= takeStored();
      login ??= await askTabs();
      tabs.addEventListener('message', answerTabs);
      return login;
    },
    set(next) {
      login = next;
    },
    drop() {
      login = null;
    },
    forget() {
      login = null;
      tabs.postMessage({ kind: 'forgotten' });
    },
  };
}
