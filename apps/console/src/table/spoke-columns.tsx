import type { JSX } from 'preact';
import { safeText } from '../words/safe-text.ts';

interface CauseProps {
  readonly spoke: string;
  readonly says: string | null;
  readonly href: (changes: Readonly<Record<string, string>>) => string;
  readonly isActive: boolean;
}

/** The cause of a row, which leads to the whole chain; `done` has one too. */
export function CauseLink({ spoke, says, href, isActive }: CauseProps): JSX.Element {
  const shown = says === null ? 'nothing: it is done' : safeText(says);
  return (
    <a class="cause" href={href({ why: spoke })} tabIndex={isActive ? 0 : -1} aria-label={`Why ${spoke}: ${shown}`} title={shown}>
      {says === null ? '–' : shown}
    </a>
  );
}
