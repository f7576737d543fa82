import type { PlanAnswer } from '@flotilla/api/answers';
import { bytes, duration, figure } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { spokePath, useFilters } from '../address.ts';
import { Table } from '../table/table.tsx';
import { safeText } from '../words/safe-text.ts';

const NUMBERS = ['Spokes', 'Missing', 'Pull', 'Space', 'Free', 'Time'];
const HEADS = ['Spokes', 'Like', 'Nodes', 'Known of their images', 'Missing', 'Pull', 'Space', 'Free', 'Time'];

/** The pulls of spokes, alike ones together, and the images. */
export function Pulls({ pulls, images }: Pick<PlanAnswer, 'pulls' | 'images'>): JSX.Element | null {
  const { query, href } = useFilters();
  if (pulls.length === 0) return null;
  return (
    <section aria-labelledby="pulls-title">
      <h2 id="pulls-title">Pre-caching</h2>
      {images ? (
        <p>
          {images.unread > 0 ? `${images.count} of ${images.count + images.unread} images could be read` : `${images.count} images`},{' '}
          {images.layers} layers, {bytes(images.bytes)} for {images.platform}
        </p>
      ) : (
        <p>
          {query.images === 'yes' ? (
            'The images could not be looked up; see below why.'
          ) : (
            <>
              The images are not looked up yet. <a href={href({ images: 'yes' })}>Look them up in their registries</a>
            </>
          )}
        </p>
      )}
      {images?.unresolved.map(({ image, why }) => (
        <p key={image} class="problem">
          {safeText(image)} could not be read: {safeText(why)}
        </p>
      ))}
      <Table label="pulls-title" heads={HEADS} numbers={NUMBERS}>
        {pulls.map(({ clusters, example, says, architecture, runtime, images: there, bytes: pulled, space, free, fits, seconds }) => (
          <tr key={example}>
            <td class="number">{clusters}</td>
            <th scope="row">
              <a href={spokePath(example)}>{example}</a>
            </th>
            <td>{[architecture, runtime].flatMap((word) => (word === undefined ? [] : [safeText(word)])).join(', ') || '?'}</td>
            <td class="text">{safeText(says)}</td>
            <td class="number" title={there?.missing.why}>
              {there ? `${figure(there.missing, String)} of ${there.of}` : '?'}
            </td>
            <td class="number" title={pulled.why}>
              {figure(pulled, bytes)}
            </td>
            <td class="number" title={space.why}>
              {figure(space, bytes)}
            </td>
            <td class="number" title={free.why}>
              {figure(free, bytes)}
              {fits === false && <strong class="problem"> no room</strong>}
            </td>
            <td class="number" title={seconds.why}>
              {figure(seconds, duration)}
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
