import type { ObjectReport, SpokeAnswer } from '@flotilla/api/answers';
import type { JSX } from 'preact';
import { Table } from '../table/table.tsx';
import { Age } from '../words/age.tsx';
import { Fact } from '../words/fact.tsx';
import { Mark, YesMark } from '../words/marks.tsx';
import { safeText } from '../words/safe-text.ts';

/** Objects that say how far a managed upgrade is. */
const OF_UPGRADE: readonly string[] = ['UpgradeConfig', 'ClusterVersion', 'ClusterOperator'];

/** Objects on the spoke, as far as works feed them back. */
export function Reports({ reports, reportsWhy }: Pick<SpokeAnswer, 'reports' | 'reportsWhy'>): JSX.Element {
  const upgrade = reports.filter(({ kind }) => OF_UPGRADE.includes(kind));
  const others = reports.filter(({ kind }) => !OF_UPGRADE.includes(kind));
  return (
    <section aria-labelledby="reports-title">
      <h2 id="reports-title">On the spoke</h2>
      {reportsWhy !== null && <p class="problem">{safeText(reportsWhy)}</p>}
      {reportsWhy === null && reports.length === 0 && (
        <p class="empty">No ManifestWork feeds values back. Give its manifests feedbackRules to see them here.</p>
      )}
      {upgrade.map((report) => (
        <Upgrade key={`${report.work} ${report.object}`} {...report} />
      ))}
      {others.length > 0 && (
        <Table label="reports-title" heads={['Object', 'Applied', 'Fed back', 'Changed', 'Work']}>
          {others.map((report) => (
            <tr key={`${report.work} ${report.object}`}>
              <th scope="row">{safeText(report.object)}</th>
              <td>
                <YesMark is={report.applied} />
              </td>
              <td class="text">{report.says === null ? valuesOf(report) : safeText(report.says)}</td>
              <td>
                <Age at={report.at} />
              </td>
              <td>{safeText(report.work)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

const valuesOf = ({ values }: ObjectReport): string => values.map(({ name, value }) => safeText(`${name} ${value}`)).join(', ');

/** One of the objects of a managed upgrade: its values, and its steps where they are fed back. */
function Upgrade(report: ObjectReport): JSX.Element {
  const { object, work, at, says, values, steps } = report;
  return (
    <div class="card">
      <h3>
        {safeText(object)}{' '}
        <small>
          by work {safeText(work)}, changed <Age at={at} form="ago" />
        </small>
      </h3>
      {says !== null && <p class="problem">{safeText(says)}</p>}
      <dl class="facts">
        {values.map(({ name, value }) => (
          <Fact key={name} name={safeText(name)}>
            {value === '' ? '–' : safeText(value)}
          </Fact>
        ))}
      </dl>
      {steps.length > 0 && (
        <ol class="steps">
          {steps.map(({ name, state, says: waits, at: since }) => (
            <li key={name}>
              <Mark
                shape={state === 'done' ? 'check' : state === 'not-done' ? 'half' : 'question'}
                tone={state === 'done' ? 'good' : state === 'not-done' ? 'busy' : 'late'}
                word={`${safeText(name)}, ${state === 'done' ? 'yes' : state === 'not-done' ? 'no' : 'unknown'}`}
              />
              {waits !== '' && <span class="says">{safeText(waits)}</span>}
              {since !== null && <Age at={since} form="for" />}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
