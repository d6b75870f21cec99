/** Returns an id as a file name: each character except ASCII letters, digits and hyphens becomes an underscore. */
export function fileNameOf(id: string): string {
  return id.replace(/[^\w-]/g, '_');
}
