/** Asks a user who is about to leave a page or the console, if unfinished work would be lost. */
import { effect, signal } from '@preact/signals';

/** Unfinished work. */
interface Work {
  /** The loss, for a list in the question. Example: `The changes that you have not saved`. */
  readonly lost: string;
  /** `page`: the work also ends when another page of the console opens. */
  readonly end: 'page' | 'console';
}

const works = signal<readonly Work[]>([]);

/** The question that is open; null: none. `go`: leaves. */
export const question = signal<{ readonly lost: readonly string[]; readonly go: () => void } | null>(null);

/** An open dialog. Returns the function that closes it; undefined: the user cannot close it. */
type OpenDialog = () => (() => void) | undefined;
/** The open dialogs, the topmost last. */
let dialogs: readonly OpenDialog[] = [];

// The browser asks before it closes or reloads the console.
const askToStay = (event: Event): void => event.preventDefault();
effect(() => {
  if (works.value.length === 0) return;
  addEventListener('beforeunload', askToStay);
  return () => removeEventListener('beforeunload', askToStay);
});

/** Asks before the user leaves, until the returned function is called. */
export function holdWork(work: Work): () => void {
  works.value = [...works.peek(), work];
  return () => {
    works.value = works.peek().filter((each) => each !== work);
  };
}

/** Ends all questions, for a page that loads again after its user has logged out. */
export function forgetWork(): void {
  works.value = [];
}

/** Lets the history close a dialog, until the returned function is called. */
export function noteDialog(dialog: OpenDialog): () => void {
  dialogs = [...dialogs, dialog];
  return () => {
    dialogs = dialogs.filter((each) => each !== dialog);
  };
}

/**
 * Leaves the page or the console. Asks first if work would be lost.
 * @param go leaves.
 */
export function leave(end: Work['end'], go: () => void): void {
  const ended = works.peek().filter((work) => end === 'console' || work.end === 'page');
  if (ended.length === 0) {
    go();
    return;
  }
  question.value = {
    lost: [...new Set(ended.map(({ lost }) => lost))],
    go() {
      works.value = works.peek().filter((work) => !ended.includes(work));
      go();
    },
  };
}

/**
 * Decides about a step through the history. A step closes the topmost dialog, like Escape, and the page stays. Without
 * a dialog, a step to another page may lose work: then this asks. If the topmost dialog cannot close, the page and
 * the dialog stay, unless the step loses neither work nor a dialog that can close.
 * @param isSamePage whether the step changes only the query or the fragment of the address. Such a step loses no work.
 * @param go repeats the step.
 * @returns whether the page stays.
 */
export function staysAt(isSamePage: boolean, go: () => void): boolean {
  const hasWork = !isSamePage && works.peek().some(({ end }) => end === 'page');
  if (!hasWork && dialogs.every((dialog) => dialog() === undefined)) return false;
  const top = dialogs.at(-1);
  if (top === undefined) leave('page', go);
  else top()?.();
  return true;
}
