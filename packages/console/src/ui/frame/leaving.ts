/** If unfinished work would be lost, asks the user who is about to leave a page or the console. */
import { computed, effect, signal, untracked } from '@preact/signals';

/** Unfinished work. */
interface Work {
  /** The loss, for a list in the question. Example: `The changes that you have not saved`. */
  readonly lost: string;
  /** `console`: the work ends when the user leaves the console. `page`: also when another page of the console opens. */
  readonly end: 'page' | 'console';
}

const works = signal<readonly Work[]>([]);

/** A step of the user away from the page or from the console. */
interface Step {
  readonly end: Work['end'];
  readonly go: () => void;
}

/** The step that waits for the answer of the user; null: none. */
const waiting = signal<Step | null>(null);

const endedBy = (end: Work['end']): readonly Work[] =>
  works.value.filter((work) => end === 'console' || work.end === 'page');

/** The question that is open; null: none. `go`: leaves. `stay`: closes the question. */
export const question = computed(() => {
  const step = waiting.value;
  if (step === null) return null;
  return {
    lost: [...new Set(endedBy(step.end).map(({ lost }) => lost))],
    go: (): void => {
      const ended = untracked(() => endedBy(step.end));
      waiting.value = null;
      works.value = works.peek().filter((work) => !ended.includes(work));
      step.go();
    },
    stay: (): void => {
      waiting.value = null;
    },
  };
});

// Takes the step at once if it loses nothing. The work may also end before the user answers, for example because a
// save succeeds.
effect(() => {
  const step = waiting.value;
  if (step === null || endedBy(step.end).length > 0) return;
  waiting.value = null;
  untracked(step.go);
});

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

/** Makes the console ask before the user leaves, until the returned function is called. */
export function holdWork(work: Work): () => void {
  works.value = [...works.peek(), work];
  return () => {
    works.value = works.peek().filter((each) => each !== work);
  };
}

/** Ends all work and closes the question. After a logout, the page calls this before it loads again without asking. */
export function forgetWork(): void {
  waiting.value = null;
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
 * Leaves the page or the console. Asks first if work would be lost. If the work ends while the question is open, leaves
 * without an answer.
 * @param go leaves.
 */
export function leave(end: Work['end'], go: () => void): void {
  waiting.value = { end, go };
}

/**
 * Decides about a step through the history. A step closes the topmost dialog, like Escape, and the page stays. Without
 * a dialog, a step to another page may lose work: then the function asks. If the topmost dialog cannot close, the page
 * and the dialog stay, unless the step loses neither work nor a dialog that can close.
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
