import type { Rights, SpokeAnswer, SpokeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { upgradePath } from '../address.ts';
import { Export } from '../export/export.tsx';
import type { Offer } from '../steer/offer.ts';
import { Steer } from '../steer/steer.tsx';
import { useAnswer } from '../use-answer.ts';
import { Why } from '../why/chain.tsx';
import { Age } from '../words/age.tsx';
import { Fact } from '../words/fact.tsx';
import { HeldMark, hasNoImages, SpokeMark, YesMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { Trail } from '../words/trail.tsx';
import { useWorld } from '../world-context.ts';
import { Images } from './images.tsx';
import { Parts } from './parts.tsx';
import { Reports } from './reports.tsx';

/** Between two questions about a spoke whose row says nothing new: its agent and its objects go on. */
const AGAIN_MS = 10_000;

/** One spoke. */
export function SpokePage(): JSX.Element {
  const world = useWorld();
  const { params } = useRoute();
  const name = params.name ?? '';
  const row = world.spokes.get(name);
  useEffect(() => {
    world.look(undefined);
    document.title = `${name} · Flotilla`;
  }, [world, name]);
  // Whatever changes in its row may have changed in the answer.
  const turn = Math.floor((world.heardAt.value ?? 0) / AGAIN_MS);
  const { answer, problem } = useAnswer(() => world.ask.spoke(name), name, `${turn} ${JSON.stringify(row)}`);
  return (
    <main id="main" class="page">
      <Trail />
      <Head name={name} row={row} answer={answer} rights={world.rights.value} />
      {problem !== undefined && <p class="problem">{safeText(problem)}</p>}
      {row?.upgrade != null && (
        <section aria-labelledby="why-title">
          <h2 id="why-title">
            Why it is so in <a href={upgradePath(row.upgrade)}>{row.upgrade}</a>
          </h2>
          <Why key={row.upgrade} upgrade={row.upgrade} cluster={name} changes={`${row.state} ${row.says}`} />
        </section>
      )}
      {answer && (
        <>
          <Images images={answer.images} row={row} />
          <Reports {...answer} />
          <Parts {...answer} />
          <p>
            <Export
              name={name}
              titles={['Object', 'Field', 'Value']}
              rows={() => answer.reports.flatMap(({ object, values }) => values.map(({ name: field, value }) => [object, field, value]))}
              objects={() => ({ row, ...answer })}
            />
          </p>
        </>
      )}
    </main>
  );
}

interface HeadProps {
  readonly name: string;
  readonly row: SpokeRow | undefined;
  readonly answer: SpokeAnswer | undefined;
  readonly rights: Rights | undefined;
}

function offersOf({ key, hold, state, cached, upgrade }: SpokeRow, rights: Rights | undefined): Offer[] {
  const lack = rights?.steerUpgrades ?? null;
  const hasFailed = state === 'failed' || hasNoImages(cached);
  return [
    ...(hasFailed && upgrade !== null ? [{ action: 'retry', of: upgrade, clusters: [key], lack } as const] : []),
    { action: hold === null ? 'hold' : 'unhold', of: key, lack: rights?.steerSpokes ?? null },
  ];
}

function Head({ name, row, answer, rights }: HeadProps): JSX.Element {
  const { isFilled } = useWorld();
  if (!row)
    return (
      <>
        <h1>{name}</h1>
        <p class="empty">
          {rights?.spokes ?? (isFilled.value ? 'There is no such spoke, or no more.' : 'Opening…')} <a href="/">To the fleet</a>
        </p>
      </>
    );
  const { state, hold, available, availableSince, version } = row;
  return (
    <>
      <header class="title">
        <h1>{name}</h1>
        <SpokeMark state={state} />
        {hold !== null && <HeldMark word={`held: ${safeText(hold)}`} />}
        <div class="does">
          <Steer offers={offersOf(row, rights)} />
        </div>
      </header>
      <dl class="facts">
        <Fact name="Version">{safeText(version ?? 'not reported')}</Fact>
        <Fact name="Available">
          <YesMark is={available} /> {availableSince !== null && <Age at={availableSince} form="for" />}
        </Fact>
        <Fact name="Its agent spoke last">
          {answer?.saidAt == null ? safeText(answer?.saidWhy ?? '…') : <Age at={answer.saidAt} form="ago" />}
        </Fact>
      </dl>
    </>
  );
}
