import type { SpokeAnswer, SpokeRow } from '@flotilla/api/answers';
import { bytes } from '@flotilla/api/units';
import type { JSX } from 'preact';
import { Bar } from '../words/bar.tsx';
import { CacheMark } from '../words/marks.tsx';

interface ImagesProps {
  readonly images: SpokeAnswer['images'];
  readonly row: SpokeRow | undefined;
}

/** Pre-caching of a spoke, as far as it is reported. */
export function Images({ images, row }: ImagesProps): JSX.Element | null {
  const cached = row?.cached ?? null;
  if (!images && cached === null) return null;
  return (
    <section aria-labelledby="images-title">
      <h2 id="images-title">Pre-cache</h2>
      <dl class="facts">
        {cached !== null && (
          <div>
            <dt>State</dt>
            <dd>
              <CacheMark cached={cached} />
            </dd>
          </div>
        )}
        {images ? (
          <>
            <div>
              <dt>Images there</dt>
              <dd>
                <Bar label="images" done={images.done} of={images.total} />
              </dd>
            </div>
            <div>
              <dt>Bytes there</dt>
              <dd>
                {bytes(images.bytesDone)} of {bytes(images.bytesTotal)}
              </dd>
            </div>
            <div>
              <dt>Rate</dt>
              <dd>{images.bytesPerSecond > 0 ? `${bytes(images.bytesPerSecond)}/s` : 'stands still'}</dd>
            </div>
          </>
        ) : (
          <div>
            <dt>Images</dt>
            <dd>{cached === 'Succeeded' ? 'all there when the pull ended' : 'its puller has reported none yet'}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}
