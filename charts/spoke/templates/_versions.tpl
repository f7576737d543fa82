{{- /* Refuses a version that is not beside an installed one: each knows its neighbours' objects alone. Renders nothing. */ -}}
{{- define "spoke.refuseSkippedMinor" -}}
{{- $root := . -}}
{{- range list (include "spoke.fullname" .) (include "spoke.upgradeOperatorName" .) (include "spoke.versionOperatorName" .) -}}
{{- $found := lookup "apps/v1" "Deployment" $root.Release.Namespace . | default dict -}}
{{- $there := dig "metadata" "labels" "app.kubernetes.io/version" "" $found -}}
{{- if regexMatch "^\\d+\\.\\d+\\.\\d+" $there -}}
{{- $old := semver $there -}}
{{- $new := semver $root.Chart.AppVersion -}}
{{- $minors := sub (int $new.Minor) (int $old.Minor) -}}
{{- $majors := sub (int $new.Major) (int $old.Major) -}}
{{- $isBeside := or (and (eq $majors 0) (le $minors 1) (ge $minors -1)) (and (eq $majors 1) (eq (int $new.Minor) 0)) (and (eq $majors -1) (eq (int $old.Minor) 0)) -}}
{{- if not $isBeside -}}
{{- fail (printf "version %s is installed as Deployment %s, and %s is not the minor version before or after it: install each minor version between them first (docs/operations.md); nothing was changed" $there . $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
