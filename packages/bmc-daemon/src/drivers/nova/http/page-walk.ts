/** Limits of a list that a service sends in pages. A faulty service must neither block the daemon nor fill its memory. */
import { queryOf } from './answer-text.js';
import { CloudFailure } from './cloud-failure.js';

/** Maximum number of members of a list. Their parsing takes some seconds. */
const MAX_MEMBERS = 200_000;

/** The pages of one list. */
export class PageWalk {
  readonly #doing: string;
  readonly #title: string;
  readonly #maxPages: number;
  /** The links that the walk has followed. */
  readonly #links = new Set<string>();
  #members = 0;

  /** @param doing the first words of error messages. @param title the name of the service. */
  constructor(doing: string, { title, maxPages }: { readonly title: string; readonly maxPages: number }) {
    this.#doing = doing;
    this.#title = title;
    this.#maxPages = maxPages;
  }

  /** Counts the members of a page. Call it before they are parsed. @throws {CloudFailure} if there are too many. */
  count(members: readonly unknown[]): void {
    this.#members += members.length;
    if (this.#members > MAX_MEMBERS) throw this.#failure(`sends more than ${MAX_MEMBERS} members`);
  }

  /** Returns the query of the next page. @throws {CloudFailure} if the service repeats a page or sends too many. */
  follow(link: string): URLSearchParams {
    if (this.#links.has(link)) throw this.#failure('repeats a page');
    this.#links.add(link);
    if (this.#links.size >= this.#maxPages) throw this.#failure(`sends more than ${this.#maxPages} pages`);
    return queryOf(link);
  }

  #failure(why: string): CloudFailure {
    return new CloudFailure('interrupted', `${this.#doing}: ${this.#title} ${why}`);
  }
}
