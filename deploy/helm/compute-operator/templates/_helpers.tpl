{{- define "compute-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "compute-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "compute-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "compute-operator.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "compute-operator.serviceAccountName" -}}
{{- default (ternary (include "compute-operator.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "compute-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "compute-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "compute-operator.labels" -}}
{{- include "compute-operator.labelsWith" (dict "root" . "labels" dict) -}}
{{- end -}}

{{- /* The labels of an object: its own, then `labels`, then commonLabels; the first to set a label wins. */ -}}
{{- define "compute-operator.labelsWith" -}}
{{- $own := include "compute-operator.ownLabels" .root | fromYaml -}}
{{- toYaml (merge $own .labels .root.Values.commonLabels) -}}
{{- end -}}

{{- define "compute-operator.ownLabels" -}}
{{ include "compute-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "compute-operator.podLabels" -}}
{{- $own := include "compute-operator.selectorLabels" . | fromYaml -}}
{{- toYaml (merge $own .Values.podLabels .Values.commonLabels) -}}
{{- end -}}

{{- define "compute-operator.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "compute-operator.topologySpreadConstraints" -}}
{{- $pods := dict "matchLabels" (include "compute-operator.selectorLabels" . | fromYaml) -}}
{{- $nodes := dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" .Values.spreadOverNodes -}}
{{- $constraints := list -}}
{{- range default (list $nodes) .Values.topologySpreadConstraints -}}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" $pods)) -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}

{{- define "compute-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "compute-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- /* Binds a ClusterRole: everywhere, or in each of the namespaces that are looked after. */ -}}
{{- define "compute-operator.binding" -}}
{{- $root := .root -}}
{{- $name := .name -}}
{{- if $root.Values.namespaces -}}
{{- range $root.Values.namespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ . }}
  labels:
    {{- include "compute-operator.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  {{- include "compute-operator.subject" $root | nindent 2 }}
{{- end }}
{{- else }}
---
{{ include "compute-operator.clusterBinding" . }}
{{- end }}
{{- end -}}

{{- define "compute-operator.clusterBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "compute-operator.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
  {{- include "compute-operator.subject" .root | nindent 2 }}
{{- end -}}
