import type { JSX } from 'preact';

interface BarProps {
  readonly label: string;
  readonly done: number;
  readonly failed?: number;
  readonly of: number;
  /** The figures in other words. */
  readonly says?: string;
}

const percent = (part: number, of: number): string => `${of === 0 ? 0 : (100 * part) / of}%`;

/** A part of a whole, as a picture and in figures. */
export const Bar = ({ label, done, failed = 0, of, says }: BarProps): JSX.Element => (
  <span class="amount">
    <span class="bar" role="img" aria-label={`${label}: ${says ?? `${done} of ${of}`}${failed > 0 ? `, ${failed} failed` : ''}`}>
      <span class="full" style={{ width: percent(done, of) }} />
      <span class="broken" style={{ width: percent(failed, of) }} />
    </span>
    <span class="figures">{says ?? `${done.toLocaleString()}/${of.toLocaleString()}`}</span>
  </span>
);
