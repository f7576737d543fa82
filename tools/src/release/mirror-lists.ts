import { stringify } from 'yaml';

/** One image by name and digest. */
interface ListedImage {
  /** `host/path/name:tag` */
  readonly name: string;
  readonly digest: string;
}

/** `images.txt`: a pull spec a line. */
export const imageList = (images: readonly ListedImage[]): string => images.map((image) => `${pullSpec(image)}\n`).join('');

/** What `oc mirror --v2` copies. */
export const imageSetConfiguration = (images: readonly ListedImage[]): string =>
  stringify(
    {
      apiVersion: 'mirror.openshift.io/v2alpha1',
      kind: 'ImageSetConfiguration',
      mirror: { additionalImages: images.map((image) => ({ name: pullSpec(image) })) },
    },
    { lineWidth: 0 },
  );

const pullSpec = ({ name, digest }: ListedImage): string => `${name}@${digest}`;
