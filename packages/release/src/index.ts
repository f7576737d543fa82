export {
  type Catalogue,
  type ChannelHead,
  type PackageChannel,
  parsePackageChannel,
  type RelatedImage,
  readCatalogue,
  unknownPackage,
} from './catalogue/catalogue.ts';
export { type Channel, type ChannelEntry, headOfChannel } from './catalogue/channel-head.ts';
export { type CatalogueFile, catalogueLimits, isCataloguePath } from './catalogue/documents.ts';
export { ReleaseError, ReleaseErrorCode } from './errors.ts';
export { compileExcludePatterns, type ExcludePatterns, excludePatternLimits } from './exclude/exclude-patterns.ts';
export {
  type ComponentImage,
  IMAGE_REFERENCES_PATH,
  type ImageReferences,
  imageReferencesLimits,
  isPullSpecShaped,
  parseImageReferences,
} from './image-references.ts';
