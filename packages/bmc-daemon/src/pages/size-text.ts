/** Formats sizes for people. */

/** Returns a size in MiB or GiB, with at most one decimal. @param size in bytes. */
export function sizeText(size: number): string {
  const mib = size / 1024 ** 2;
  return mib >= 1024 ? `${Number((mib / 1024).toFixed(1))} GiB` : `${Number(mib.toFixed(1))} MiB`;
}
