/** Detects narrow windows. */
import { useEffect, useState } from 'preact/hooks';

const narrow = matchMedia('(max-width: 50rem)');

/**
 * Returns whether the window is at most 50rem wide, the limit of the style sheets. The component renders
 * again when this changes.
 */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const update = (): void => setNarrow(narrow.matches);
    narrow.addEventListener('change', update);
    return () => narrow.removeEventListener('change', update);
  }, []);
  return isNarrow;
}
