import type { JSX } from 'preact';
import { escapeUnseen } from '../words/safe-text.ts';
import { type Cell, toCsv } from './csv.ts';

/** Something that can be taken along as it is shown. */
interface ExportProps {
  /** Name of the files, without an ending. */
  readonly name: string;
  readonly titles: readonly string[];
  /** Asked when somebody wants it. */
  readonly rows: () => readonly (readonly Cell[])[];
  /** The same as objects. */
  readonly objects: () => unknown;
}

/** Takes a view along, as a file. */
export const Export = ({ name, titles, rows, objects }: ExportProps): JSX.Element => (
  <span class="export">
    <button
      type="button"
      class="quiet"
      aria-label={`Save ${name} as CSV`}
      onClick={() => save(`${name}.csv`, 'text/csv', toCsv(titles, rows()))}
    >
      CSV
    </button>
    <button
      type="button"
      class="quiet"
      aria-label={`Save ${name} as JSON`}
      onClick={() => save(`${name}.json`, 'application/json', `${escapeUnseen(JSON.stringify(objects(), null, 2))}\n`)}
    >
      JSON
    </button>
  </span>
);

function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
