{{- define "qwed.labels" -}}
app.kubernetes.io/name: qwed
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "qwed.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}
