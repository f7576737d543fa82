import { type ActionRequest, type ChangeAnswer, outcomeWords, type WindowParts } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { upgradePath } from '../address.ts';
import { spanOf } from '../fleet/matter.ts';
import { Lanes } from '../fleet/timeline.tsx';
import { useNow } from '../words/age.tsx';
import { safeText } from '../words/safe-text.ts';
import { useWorld } from '../world-context.ts';
import { changeWords, type Offer } from './offer.ts';
import { WindowForm } from './window-form.tsx';

type Wish = Pick<ActionRequest, 'action' | 'reason' | 'window'>;

type Step =
  | { readonly kind: 'form' }
  | { readonly kind: 'busy'; readonly says: string }
  | { readonly kind: 'checked' | 'ended'; readonly answer: ChangeAnswer }
  | { readonly kind: 'problem'; readonly says: string };

interface ChangeProps {
  readonly offer: Offer;
  readonly onEnd: () => void;
}

const CHECKING = { kind: 'busy', says: 'Checking what it would do…' } as const;
const READING = { kind: 'busy', says: 'Reading the window there is…' } as const;

/** A change: what it would do, the question, and how it ended. */
export function Change({ offer, onEnd }: ChangeProps): JSX.Element {
  const world = useWorld();
  const { ask } = world;
  const { action, of, clusters } = offer;
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [step, setStep] = useState<Step>(action === 'window' ? READING : CHECKING);
  const [request, setRequest] = useState<Wish>();
  const [was, setWas] = useState<WindowParts>();
  const fail = (error: unknown): void => setStep({ kind: 'problem', says: error instanceof Error ? error.message : String(error) });
  const openForm = (window: WindowParts): void => {
    setWas(window);
    setStep({ kind: 'form' });
  };
  const send = async (change: Wish, seen?: ChangeAnswer): Promise<void> => {
    const dryRun = seen === undefined;
    setRequest(change);
    setStep(dryRun ? CHECKING : { kind: 'busy', says: 'Changing, and waiting for the hub to take it up…' });
    try {
      const chosen = clusters && { clusters: [...clusters] };
      const answer = await ask.act({ ...change, of, dryRun, seen: seen?.seen, ...chosen, ...(reason !== '' && { reason }) });
      setStep({ kind: answer.outcome === 'dry-run' || answer.outcome === 'outdated' ? 'checked' : 'ended', answer });
    } catch (error) {
      fail(error);
    }
  };
  useEffect(() => {
    dialog.current?.showModal();
    if (action === 'window') ask.window(of).then(openForm, fail);
    else void send({ action });
  }, []);
  const close = (): void => dialog.current?.close();
  const takeBack = (undoing: Wish): void => {
    setReason(undoing.reason ?? '');
    void send(undoing);
  };
  const check = (window: WindowParts | undefined): void =>
    void send(window ? { action: 'window-set', window } : { action: 'window-clear' });
  return (
    <dialog ref={dialog} class="change" aria-labelledby="change-title" onClose={onEnd}>
      <h2 id="change-title">
        {changeWords[action === 'window' ? action : (request?.action ?? action)]} {of}
      </h2>
      {of.includes('/') && world.knows('upgrades') && !world.upgrades.get(of) && (
        <p class="problem" role="alert">
          {of} has been deleted meanwhile.
        </p>
      )}
      <div aria-live="polite">
        {step.kind === 'busy' && <p class="busy">{step.says}</p>}
        {step.kind === 'problem' && <p class="problem">{safeText(step.says)}</p>}
        {(step.kind === 'checked' || step.kind === 'ended') && <Told answer={step.answer} onLeave={close} onUndo={takeBack} />}
      </div>
      {was && <WindowForm was={was} isHidden={step.kind !== 'form'} onCheck={check} onCancel={close} />}
      {step.kind === 'checked' && request && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void send(request, step.answer);
          }}
        >
          {(request.action === 'pause' || request.action === 'hold') && (
            <label class="reason">
              Why, for whoever looks
              <input type="text" maxLength={500} value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
            </label>
          )}
          <div class="buttons">
            <button type="submit" class="main" ref={(button) => button?.focus()}>
              {changeWords[request.action]}
            </button>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </div>
        </form>
      )}
      {(step.kind === 'busy' || step.kind === 'problem' || step.kind === 'ended') && (
        <div class="buttons">
          {step.kind === 'problem' && was && (
            <button type="button" onClick={() => setStep({ kind: 'form' })}>
              Back
            </button>
          )}
          <button type="button" onClick={close}>
            Close
          </button>
        </div>
      )}
    </dialog>
  );
}

interface ToldProps {
  readonly answer: ChangeAnswer;
  /** The dialog would stay open over the page that a link in it leads to. */
  readonly onLeave: () => void;
  /** A change like every other one: it is shown before it is made. */
  readonly onUndo: (undoing: Wish) => void;
}

function Told({ answer, onLeave, onUndo }: ToldProps): JSX.Element {
  const { object, outcome, annotations, clusters, says, undo, undoing, windows } = answer;
  const [kind, key = ''] = object.split(' ');
  return (
    <>
      <p>
        <strong>
          {kind === 'ClusterGroupUpgrade' && outcome === 'created' ? (
            <a href={upgradePath(key)} onClick={onLeave}>
              {object}
            </a>
          ) : (
            object
          )}
        </strong>{' '}
        {outcomeWords(answer)}
        {outcome !== 'unchanged' && `, touching ${clusters} ${clusters === 1 ? 'cluster' : 'clusters'}`}.
      </p>
      <ul>
        {says.map((sentence) => (
          <li key={sentence}>{safeText(sentence)}</li>
        ))}
      </ul>
      {windows && <Windows {...windows} />}
      {annotations.length > 0 && (
        <ul class="annotations">
          {annotations.map(({ key: name, before, after }) => (
            <li key={name}>
              <code>{name}</code>: {shown(before)} → {shown(after)}
            </li>
          ))}
        </ul>
      )}
      {(outcome === 'changed' || outcome === 'created' || outcome === 'unanswered') && undo !== undefined && (
        <p class="undo">
          {undoing ? (
            <button type="button" onClick={() => onUndo(undoing)}>
              Undo…
            </button>
          ) : (
            'Undo:'
          )}{' '}
          <code>{undo}</code>
        </p>
      )}
    </>
  );
}

/** The window there is and the one that is wanted, on one line of time. */
function Windows({ before, after }: NonNullable<ChangeAnswer['windows']>): JSX.Element {
  const now = useNow();
  const windows = [before, after];
  return (
    <div class="timeline">
      <Lanes
        spans={windows.map((window) => spanOf({ window, ends: undefined }, now))}
        names={[<strong key="before">Before</strong>, <strong key="after">After</strong>]}
      />
    </div>
  );
}

const shown = (value: string | undefined): string => (value === undefined ? '(none)' : safeText(JSON.stringify(value)));
