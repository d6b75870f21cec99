/** Windows as narrow as that of a phone. */
import { useEffect, useState } from 'preact/hooks';

const narrow = matchMedia('(max-width: 50rem)');

/** Returns whether a window is as narrow as that of a phone, also after it has changed. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const update = (): void => setNarrow(narrow.matches);
    narrow.addEventListener('change', update);
    return () => narrow.removeEventListener('change', update);
  }, []);
  return isNarrow;
}
