/** Returns an id as a file name: each character that is no letter, digit, hyphen or underscore becomes an underscore. */
export function fileNameOf(id: string): string {
  return id.replace(/[^\w-]/g, '_');
}
