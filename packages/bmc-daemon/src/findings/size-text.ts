/** Sizes for people. */

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns a size for people, such as `1.5 GiB`. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${UNITS[unit] ?? ''}`;
}
