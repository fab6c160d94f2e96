-- v_accuracy says how the attempt ended, so that a mean can be taken over the members that are
-- done, and gives a loss as v_metric does. A loss that nobody told is NULL in both its columns.

DROP VIEW v_accuracy;

CREATE VIEW v_accuracy AS
SELECT 's' || l.sweep || 'c' || l.cell || 'r' || l.replicate AS member,
       l.sweep, l.cell, l.replicate, c.plan, c.hardware, c.stack, c.block, c.axes, a.outcome,
       CASE t1.special WHEN 0 THEN t1.value END AS top1,
       CASE t5.special WHEN 0 THEN t5.value END AS top5,
       CASE s.special WHEN 0 THEN s.value WHEN 2 THEN 9e999 WHEN 3 THEN -9e999 END AS loss,
       CASE s.special WHEN 0 THEN '' WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' WHEN 3 THEN '-inf' END
         AS loss_special
FROM attempt a JOIN lease l USING (lease)
     JOIN cell c ON c.sweep = l.sweep AND c.cell = l.cell
     LEFT JOIN attempt_metric t1 ON t1.lease = a.lease AND t1.name = 'top1'
     LEFT JOIN attempt_metric t5 ON t5.lease = a.lease AND t5.name = 'top5'
     LEFT JOIN attempt_metric s ON s.lease = a.lease AND s.name = 'loss'
WHERE a.accepted = 1;
