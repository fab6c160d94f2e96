-- Few members have files of their test set, and every study looks for them.

CREATE INDEX artifact_of_sets ON artifact (lease)
  WHERE kind IN ('evaluation_images', 'evaluation_labels', 'evaluation_groups');
