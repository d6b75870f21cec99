/** A table for thousands of rows. Only the visible rows are in the page, and scrolling reuses their elements. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Cells, Head, sortRows, type TableProps } from './columns.js';

/** Properties of `VirtualTable`. */
interface VirtualTableProps<Row> extends TableProps<Row> {
  /** Height of each row in pixels. Cells do not wrap. */
  readonly rowHeight: number;
}

/** Rows above and below the window that are rendered too. */
const OVERSCAN = 8;

/** The table. It fills the height of its parent, a flex column, and scrolls by itself. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, rows, keyOf, sorting, selection, rowHeight } = props;
  const region = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [height, setHeight] = useState(800);
  const sorted = useMemo(() => sortRows(rows, columns, sorting), [rows, columns, sorting]);

  useEffect(() => {
    const element = region.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const count = Math.ceil(height / rowHeight) + 2 * OVERSCAN;
  const start = Math.max(0, Math.min(first - OVERSCAN, sorted.length - count));
  const visible = sorted.slice(start, start + count);
  const below = sorted.length - start - visible.length;
  const span = columns.length + (selection === undefined ? 0 : 1);
  return (
    <div
      ref={region}
      class="scroll virtual"
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={(event) => setFirst(Math.floor(event.currentTarget.scrollTop / rowHeight))}
    >
      <table aria-label={label} aria-rowcount={sorted.length + 1}>
        <Head {...props} />
        <tbody>
          <Spacer height={start * rowHeight} span={span} />
          {visible.map((row, index) => {
            const key = keyOf(row);
            return (
              <tr
                // The key is the slot, so that scrolling by a row changes the contents of one element only.
                key={(start + index) % count}
                aria-rowindex={start + index + 2}
                style={{ height: `${rowHeight}px` }}
                class={selection?.selected.has(key) === true ? 'selected' : undefined}
              >
                <Cells row={row} columns={columns} keyOf={keyOf} selection={selection} />
              </tr>
            );
          })}
          <Spacer height={below * rowHeight} span={span} />
        </tbody>
      </table>
    </div>
  );
}

/** The place of rows that are not in the page. */
function Spacer({ height, span }: { readonly height: number; readonly span: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" class="spacer">
      <td colSpan={span} style={{ height: `${height}px` }} />
    </tr>
  );
}
