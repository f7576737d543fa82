import type { Rights, UpgradeRow } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { useFilters } from '../address.ts';
import { WindowText } from '../fleet/upgrades.tsx';
import { Steer } from '../steer/steer.tsx';
import { Scroll } from '../table/scroll.tsx';
import { WhyPanel } from '../why/panel.tsx';
import { Age } from '../words/age.tsx';
import { Bar } from '../words/bar.tsx';
import { HeldMark, StageMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';
import { bytes, duration, figure } from '../words/units.ts';
import { useWorld } from '../world-context.ts';
import { Batches } from './batches.tsx';
import { Failures, Waits } from './causes.tsx';
import { Events } from './events.tsx';
import { Members } from './members.tsx';

/** One upgrade. */
export function RolloutPage(): JSX.Element {
  const world = useWorld();
  const { params } = useRoute();
  const { query } = useFilters();
  const key = `${params.namespace}/${params.name}`;
  useEffect(() => {
    world.look(key);
    document.title = `${key} · Flotilla`;
  }, [world, key]);
  void world.upgrades.version.value;
  void world.members.version.value;
  const row = world.upgrades.get(key);
  const members = world.members.values();
  return (
    <main id="main" class="page">
      <p class="trail">
        <a href="/">Fleet</a>
      </p>
      {row ? (
        <Head row={row} rights={world.rights.value} />
      ) : (
        <>
          <h1>{key}</h1>
          <p class="empty">{world.rights.value?.upgrades ?? 'There is no such ClusterGroupUpgrade.'}</p>
        </>
      )}
      {query.why !== undefined && <WhyPanel upgrade={key} cluster={query.why} />}
      {row && (
        <>
          <section aria-labelledby="batches-title">
            <h2 id="batches-title">
              Batches{' '}
              <small>
                {row.batch.current} of {row.batch.of}
              </small>
            </h2>
            <Batches row={row} members={members} />
          </section>
          <div class="beside">
            <section aria-labelledby="waits-title">
              <h2 id="waits-title">Waits</h2>
              <Scroll label="waits-title">
                <Waits waits={row.waits} />
              </Scroll>
            </section>
            <section aria-labelledby="failures-title">
              <h2 id="failures-title">Failures</h2>
              <Scroll label="failures-title">
                <Failures failures={row.failures} />
              </Scroll>
            </section>
          </div>
          <Members members={members} />
          <Events upgrade={key} />
        </>
      )}
    </main>
  );
}

interface HeadProps {
  readonly row: UpgradeRow;
  readonly rights: Rights | undefined;
}

const ENDED: readonly string[] = ['done', 'failed', 'timed-out', 'deleting'];

function Head({ row, rights }: HeadProps): JSX.Element {
  const { key, stage, says, paused, window, clusters, cached, ends, writtenAt } = row;
  const lack = rights?.steerUpgrades ?? null;
  return (
    <>
      <header class="title">
        <h1>{key}</h1>
        <StageMark stage={stage} />
        {paused !== null && <HeldMark word={`paused: ${safeText(paused)}`} />}
        <div class="actions">
          <Steer offered={paused !== null ? 'resume' : ENDED.includes(stage) ? undefined : 'pause'} of={key} lack={lack} />
        </div>
      </header>
      <p class="says">{safeText(says)}</p>
      <dl class="facts">
        <div>
          <dt>Done</dt>
          <dd>
            <Bar label="done" done={clusters.done} failed={clusters.failed} of={clusters.total} /> {clusters.inBatch} in batch,{' '}
            {clusters.failed} failed, {clusters.left} to come
          </dd>
        </div>
        {cached && (
          <div>
            <dt>Cached</dt>
            <dd>
              <Bar label="cached" done={cached.done} failed={cached.failed} of={cached.of} /> {cached.pulling} pulling, {cached.failed}{' '}
              failed, {figure(cached.bytesDone, bytes)} of {figure(cached.bytesTotal, bytes)}
              {cached.bytesPerSecond.value !== undefined && `, ${figure(cached.bytesPerSecond, bytes)}/s`}
            </dd>
          </div>
        )}
        <div>
          <dt>Window</dt>
          <dd>
            <WindowText {...window} />
          </dd>
        </div>
        <div>
          <dt>Ends in</dt>
          <dd>
            {ends ? figure(ends.seconds, duration) : '–'}
            {ends?.fitsWindow === false && ', does not fit the window'}
            {ends?.fitsWindow === true && ', fits the window'}
          </dd>
        </div>
        <div>
          <dt>Written by the hub</dt>
          <dd>
            <Age at={writtenAt} /> ago
          </dd>
        </div>
      </dl>
    </>
  );
}
