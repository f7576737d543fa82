import { type WindowParts, windowFields } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { fieldOf, windowOf } from './window-fields.ts';

interface FormProps {
  /** The window that the upgrade has. */
  readonly was: WindowParts;
  /** It keeps what was typed while the answer is shown. */
  readonly isHidden: boolean;
  /** Undefined for no window. */
  readonly onCheck: (window: WindowParts | undefined) => void;
  readonly onCancel: () => void;
}

type Shape = 'once' | 'again' | 'none';
const SHAPES: readonly (readonly [Shape, string])[] = [
  ['once', 'Once, between two times'],
  ['again', 'Again and again'],
  ['none', 'No window: batches start at any time'],
];

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The window that somebody wants, beginning with the one there is. */
export function WindowForm({ was, isHidden, onCheck, onCancel }: FormProps): JSX.Element {
  const [shape, setShape] = useState<Shape>(was.schedule === undefined ? 'once' : 'again');
  return (
    <form
      hidden={isHidden}
      class="window-form"
      onSubmit={(event) => {
        event.preventDefault();
        onCheck(shape === 'none' ? undefined : windowOf(new FormData(event.currentTarget), was));
      }}
    >
      <fieldset>
        <legend>Batches start</legend>
        {SHAPES.map(([value, says]) => (
          <label key={value}>
            <input type="radio" name="shape" value={value} checked={shape === value} onChange={() => setShape(value)} /> {says}
          </label>
        ))}
      </fieldset>
      {shape === 'again' && (
        <div class="fields">
          <label>
            {windowFields.schedule}, as five cron fields
            <input name="schedule" defaultValue={was.schedule ?? ''} required placeholder="0 22 * * 6" />
          </label>
          <label>
            {windowFields.duration}
            <input name="duration" defaultValue={was.duration ?? ''} required placeholder="4h" />
          </label>
          <label>
            {windowFields.timezone}
            <input name="timezone" defaultValue={was.timezone ?? (was.schedule === undefined ? ZONE : '')} placeholder="UTC" />
          </label>
        </div>
      )}
      {shape !== 'none' && (
        <div class="fields">
          {(['start', 'end'] as const).map((part) => (
            <label key={part}>
              {windowFields[part]} ({ZONE})
              <input
                type="datetime-local"
                name={part}
                defaultValue={fieldOf(part, was[part])}
                required={part === 'end' && shape === 'once' && was.start === undefined}
              />
            </label>
          ))}
        </div>
      )}
      <div class="buttons">
        <button type="submit" class="main">
          See what it would do
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}
