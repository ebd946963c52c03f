(* Rounding errors of the shifted softmax and the log-sum-exp, for every size, precision and range of the scores.

   The algorithm is the one that code generation emits: the largest score m is subtracted, the exponentials are added in
   some order, and then divided by, or their logarithm added to m. Numbers are Flocq's FLX: precision p (24 is float32,
   53 is float64), rounding to nearest, without underflow and overflow. What is assumed of the library stands as
   hypotheses: exp is good to a factor c, log to a relative error d. The order of the sum is any tree of additions; its
   depth enters the bound: n - 1 one after the other, about log2 n in pairs. *)
From Coq Require Import Reals Lra Lia Arith.
From Flocq Require Import Core Relative.
From DeriveCoq Require Import Derive.
Open Scope R_scope.

(* ---- what must be believed ---- *)
(* x and y agree up to the factor r *)
Definition near (r x y : R) : Prop := y / r <= x <= y * r.
(* an order of summation: a tree of additions, its leaves the indices *)
Inductive tree : Type := Leaf (k : nat) | Node (a b : tree).
Fixpoint total (t : tree) (f : nat -> R) : R := match t with Leaf k => f k | Node a b => total a f + total b f end.
Fixpoint depth (t : tree) : nat := match t with Leaf _ => O | Node a b => S (Nat.max (depth a) (depth b)) end.
Fixpoint below (n : nat) (t : tree) : Prop := match t with Leaf k => (k < n)%nat | Node a b => below n a /\ below n b end.
(* t adds what belongs to the indices below n *)
Definition adds (n : nat) (t : tree) : Prop := below n t /\ forall f, total t f = Sum n f.

Lemma near_pos r x y : 0 < r -> 0 < y -> near r x y -> 0 < x.
Proof. intros R Y [H _]. eapply Rlt_le_trans; [apply (Rdiv_lt_0_compat y r Y R)|exact H]. Qed.
Lemma near_le r r' x y : 0 < r -> r <= r' -> 0 < y -> near r x y -> near r' x y.
Proof.
  intros R L Y [A B]; split.
  - eapply Rle_trans; [|exact A]. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; assumption.
  - eapply Rle_trans; [exact B|]. apply Rmult_le_compat_l; lra.
Qed.
Lemma near_trans r s x y w : 0 < r -> 0 < s -> near r x y -> near s y w -> near (r * s) x w.
Proof.
  intros R S [A B] [C E]; split.
  - eapply Rle_trans; [|exact A]. replace (w / (r * s)) with (w / s / r) by (field; lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact R|exact C].
  - eapply Rle_trans; [exact B|]. replace (w * (r * s)) with (w * s * r) by ring. apply Rmult_le_compat_r; lra.
Qed.
Lemma near_div r s x y a b : 0 < r -> 0 < s -> 0 < y -> 0 < b -> near r x y -> near s a b -> near (r * s) (x / a) (y / b).
Proof.
  intros R S Y B X A. pose proof (near_pos s a b S B A) as PA. pose proof (near_pos r x y R Y X) as PX.
  destruct X as [X1 X2], A as [A1 A2]. split.
  - replace (y / b / (r * s)) with (y / r * / (b * s)) by (field; lra).
    apply Rmult_le_compat; [left; apply Rdiv_lt_0_compat; assumption|left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption
      |assumption|apply Rinv_le_contravar; assumption].
  - replace (y / b * (r * s)) with (y * r * / (b / s)) by (field; lra).
    apply Rmult_le_compat; [lra|left; apply Rinv_0_lt_compat; assumption|assumption|].
    apply Rinv_le_contravar; [apply Rdiv_lt_0_compat; assumption|assumption].
Qed.
Lemma near_plus r x y a b : near r x y -> near r a b -> near r (x + a) (y + b).
Proof. intros [A B] [C E]; split; unfold Rdiv; rewrite ?Rmult_plus_distr_r; [unfold Rdiv in A, C|]; lra. Qed.
(* a factor is a difference of logarithms *)
Lemma near_ln r x y : 1 <= r -> 0 < y -> near r x y -> Rabs (ln x - ln y) <= ln r.
Proof.
  intros R Y N. pose proof (near_pos r x y ltac:(lra) Y N) as X. destruct N as [A B].
  assert (ln x <= ln y + ln r) by (rewrite <- ln_mult by lra; apply Rge_le, row_log_increasing; lra).
  assert (ln y - ln r <= ln x).
  { replace (ln y - ln r) with (ln (y / r)) by (unfold Rdiv; rewrite ln_mult, ln_Rinv by (try apply Rinv_0_lt_compat; lra); ring).
    apply Rge_le, row_log_increasing; [lra|apply Rdiv_lt_0_compat; lra]. }
  apply Rabs_le. lra.
Qed.

Section Float.
Variables (p : Z) (Hp : (1 < p)%Z).
Definition u := / 2 * bpow radix2 (- p + 1).  (* half an ulp of 1 *)
Definition rnd := round radix2 (FLX_exp p) ZnearestE.
Definition rho := / (1 - u).
Instance p_pos : Prec_gt_0 p.
Proof. unfold Prec_gt_0; lia. Qed.
Lemma u_range : 0 < u <= / 4.
Proof.
  unfold u. pose proof (bpow_gt_0 radix2 (- p + 1)). assert (bpow radix2 (- p + 1) <= bpow radix2 (-1)) by (apply bpow_le; lia).
  simpl in H0. lra.
Qed.
Lemma rho_ge : 1 <= rho.
Proof. unfold rho. pose proof u_range. rewrite <- Rinv_1 at 1. apply Rinv_le_contravar; lra. Qed.
Lemma rho_pow_ge k : 1 <= rho ^ k.
Proof. apply pow_R1_Rle, rho_ge. Qed.
Lemma rnd_err x : Rabs (rnd x - x) <= u * Rabs x.
Proof. unfold rnd, u. apply relative_error_N_FLX. apply p_pos. Qed.
Lemma near_rnd x : 0 < x -> near rho (rnd x) x.
Proof.
  intros X. pose proof (rnd_err x) as E. pose proof u_range. rewrite (Rabs_pos_eq x) in E by lra.
  apply Rabs_le_inv in E. unfold near, rho. split.
  - unfold Rdiv. rewrite Rinv_inv. lra.
  - apply (Rmult_le_reg_r (1 - u)); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.
(* the sum as it is computed, each addition rounded *)
Fixpoint rounded (t : tree) (f : nat -> R) : R :=
  match t with Leaf k => f k | Node a b => rnd (rounded a f + rounded b f) end.
Lemma total_pos n t g : below n t -> (forall k, (k < n)%nat -> 0 < g k) -> 0 < total t g.
Proof. induction t; simpl; intros B H; [apply H; exact B|]. destruct B. specialize (IHt1 H0 H). specialize (IHt2 H1 H). lra. Qed.
Lemma near_rounded n t f g r : 1 <= r -> below n t -> (forall k, (k < n)%nat -> 0 < g k /\ near r (f k) (g k)) ->
  near (r * rho ^ depth t) (rounded t f) (total t g).
Proof.
  intros R. induction t as [k|a IHa b IHb]; intros B H.
  - simpl. rewrite Rmult_1_r. apply H, B.
  - destruct B as [Ba Bb]. specialize (IHa Ba H). specialize (IHb Bb H).
    pose proof (total_pos n a g Ba (fun k K => proj1 (H k K))) as Pa.
    pose proof (total_pos n b g Bb (fun k K => proj1 (H k K))) as Pb.
    set (d := Nat.max (depth a) (depth b)).
    assert (Q : near (r * rho ^ d) (rounded a f + rounded b f) (total a g + total b g)).
    { apply near_plus; (eapply near_le; [| | |eassumption]); try assumption;
      try (pose proof (rho_pow_ge (depth a)); pose proof (rho_pow_ge (depth b)); nra);
      (apply Rmult_le_compat_l; [lra|apply Rle_pow; [apply rho_ge|unfold d; lia]]). }
    change (near (r * (rho * rho ^ d)) (rnd (rounded a f + rounded b f)) (total a g + total b g)).
    replace (r * (rho * rho ^ d)) with (rho * (r * rho ^ d)) by ring.
    pose proof rho_ge. pose proof (rho_pow_ge d). assert (0 < r * rho ^ d) by nra.
    eapply near_trans; [lra|assumption| |exact Q]. apply near_rnd. eapply near_pos; [eassumption| |exact Q]. lra.
Qed.

(* what is assumed of the library's exp and log *)
Variables (fexp flog : R -> R) (c d : R).
Hypotheses (Hc : 1 <= c) (fexp_ok : forall x, near c (fexp x) (exp x))
           (Hd : 0 <= d) (flog_ok : forall x, 0 < x -> Rabs (flog x - ln x) <= d * Rabs (ln x)).
(* scores z, their largest m, no score further from it than the gap *)
Variables (n : nat) (t : tree) (z : nat -> R) (gap : R).
Let m := Max n z.
Hypotheses (Hn : (0 < n)%nat) (Ht : adds n t) (Hgap : forall k, (k < n)%nat -> m - z k <= gap).
Definition computed_exp k := fexp (rnd (z k - m)).
Definition computed_sum := rounded t computed_exp.
Definition computed_softmax i := rnd (computed_exp i / computed_sum).
Definition computed_lse := rnd (m + flog computed_sum).
Let true_sum := Sum n (fun k => exp (z k - m)).

Lemma near_exp k g : (k < n)%nat -> m - z k <= g -> near (c * exp (u * g)) (computed_exp k) (exp (z k - m)).
Proof.
  intros K G. pose proof (Max_ge n z k K) as M. fold m in M.
  unfold computed_exp. eapply near_trans; [lra|apply exp_pos|apply fexp_ok|].
  pose proof (rnd_err (z k - m)) as E. pose proof u_range. rewrite (Rabs_left1 (z k - m)) in E by lra.
  assert (E2 : Rabs (rnd (z k - m) - (z k - m)) <= u * g) by (eapply Rle_trans; [exact E|apply Rmult_le_compat_l; lra]).
  apply Rabs_le_inv in E2. split.
  - unfold Rdiv. rewrite <- exp_Ropp, <- exp_plus. apply exp_le. lra.
  - rewrite <- exp_plus. apply exp_le. lra.
Qed.
Lemma gap_pos : 0 <= gap.
Proof. pose proof (Max_ge n z 0 Hn) as M. fold m in M. pose proof (Hgap 0%nat Hn). lra. Qed.
Lemma factor_ge g : 0 <= g -> 1 <= c * exp (u * g).
Proof. intros G. pose proof u_range. assert (1 <= exp (u * g)) by (rewrite <- exp_0; apply exp_le, Rmult_le_pos; lra). nra. Qed.
Lemma true_sum_pos : 0 < true_sum.
Proof. apply Sum_pos; [exact Hn|intros; apply exp_pos]. Qed.
Lemma near_sum : near (c * exp (u * gap) * rho ^ depth t) computed_sum true_sum.
Proof.
  destruct Ht as [B T]. unfold true_sum. rewrite <- T. apply (near_rounded n); [apply factor_ge, gap_pos|exact B|].
  intros k K. split; [apply exp_pos|apply near_exp; [exact K|apply Hgap; exact K]].
Qed.
Lemma sum_shifted : Sum n (fun k => exp (z k)) = exp m * true_sum.
Proof. unfold true_sum. rewrite <- Sum_scal. apply Sum_ext. intros. rewrite <- exp_plus. f_equal. ring. Qed.

(* ---- softmax: each output is good to a factor ---- *)
Theorem softmax_error i : (i < n)%nat ->
  near (rho ^ (depth t + 1) * c ^ 2 * exp (u * (m - z i + gap))) (computed_softmax i)
       (exp (z i) / Sum n (fun k => exp (z k))).
Proof.
  intros I. pose proof (Max_ge n z i I) as M. fold m in M. pose proof gap_pos as G.
  pose proof rho_ge. pose proof (rho_pow_ge (depth t)) as P. pose proof true_sum_pos as TS.
  pose proof (factor_ge (m - z i) ltac:(lra)) as R1. pose proof (factor_ge gap G) as R2.
  replace (exp (z i) / Sum n (fun k => exp (z k))) with (exp (z i - m) / true_sum).
  2: { rewrite sum_shifted. replace (exp (z i)) with (exp m * exp (z i - m)) by (rewrite <- exp_plus; f_equal; ring).
       pose proof (exp_pos m). field. lra. }
  assert (Q : near (c * exp (u * (m - z i)) * (c * exp (u * gap) * rho ^ depth t)) (computed_exp i / computed_sum)
                   (exp (z i - m) / true_sum)).
  { apply near_div; [lra|nra|apply exp_pos|exact TS|apply near_exp; [exact I|lra]|exact near_sum]. }
  replace (rho ^ (depth t + 1) * c ^ 2 * exp (u * (m - z i + gap)))
    with (rho * (c * exp (u * (m - z i)) * (c * exp (u * gap) * rho ^ depth t))).
  2: { replace (u * (m - z i + gap)) with (u * (m - z i) + u * gap) by ring. rewrite exp_plus, pow_add. simpl. ring. }
  assert (0 < c * exp (u * (m - z i)) * (c * exp (u * gap) * rho ^ depth t)) by (apply Rmult_lt_0_compat; nra).
  unfold computed_softmax. eapply near_trans; [lra|assumption| |exact Q]. apply near_rnd.
  eapply near_pos; [eassumption| |exact Q]. apply Rdiv_lt_0_compat; [apply exp_pos|exact TS].
Qed.

(* ---- log-sum-exp: an absolute error, since it may cancel ---- *)
Definition loss : R := INR (depth t) * ln rho + ln c + u * gap.  (* of the logarithm, through its argument *)
Lemma ln_pow_rho k : ln (rho ^ k) = INR k * ln rho.
Proof. apply ln_pow. pose proof rho_ge. lra. Qed.
Theorem log_sum_exp_error :
  Rabs (computed_lse - ln (Sum n (fun k => exp (z k)))) <=
  u * Rabs (ln (Sum n (fun k => exp (z k)))) + (1 + u) * (d * (ln (INR n) + loss) + loss).
Proof.
  pose proof true_sum_pos as TS. pose proof rho_ge. pose proof (rho_pow_ge (depth t)) as P. pose proof gap_pos as G.
  pose proof (factor_ge gap G) as R. pose proof u_range as U. pose proof near_sum as N.
  assert (F : 1 <= c * exp (u * gap) * rho ^ depth t) by nra.
  assert (L : ln (c * exp (u * gap) * rho ^ depth t) = loss).
  { assert (0 < c * exp (u * gap)) by (apply Rmult_lt_0_compat; [lra|apply exp_pos]).
    rewrite ln_mult by lra. rewrite ln_mult by (try apply exp_pos; lra). rewrite ln_exp, ln_pow_rho. unfold loss. ring. }
  assert (CS : 0 < computed_sum) by (eapply near_pos; [|exact TS|exact N]; lra).
  pose proof (near_ln _ _ _ F TS N) as D. rewrite L in D.
  assert (LP : 0 <= loss) by (eapply Rle_trans; [apply Rabs_pos|exact D]).
  (* the true sum lies between 1 and n *)
  assert (T1 : 1 <= true_sum).
  { destruct (Max_attained n z Hn) as [j [Hj M]]. fold m in M. rewrite <- exp_0.
    replace 0 with (z j - m) by lra. apply (Sum_term n (fun k => exp (z k - m))); [exact Hj|intros; apply Rlt_le, exp_pos]. }
  assert (T2 : true_sum <= INR n).
  { rewrite <- Sum_one. apply Sum_le. intros k K. pose proof (Max_ge n z k K) as M. fold m in M.
    rewrite <- exp_0. apply exp_le. lra. }
  assert (LT : 0 <= ln true_sum <= ln (INR n)).
  { split; [apply ln_nneg; exact T1|apply Rge_le, row_log_increasing; lra]. }
  assert (E : ln (Sum n (fun k => exp (z k))) = m + ln true_sum).
  { rewrite sum_shifted, ln_mult, ln_exp by (try apply exp_pos; exact TS). reflexivity. }
  rewrite E. pose proof (flog_ok computed_sum CS) as FL.
  assert (A : Rabs (ln computed_sum) <= ln (INR n) + loss).
  { replace (ln computed_sum) with (ln computed_sum - ln true_sum + ln true_sum) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_pos_eq (ln true_sum)) by lra. lra. }
  assert (B : Rabs (flog computed_sum - ln true_sum) <= d * (ln (INR n) + loss) + loss).
  { replace (flog computed_sum - ln true_sum) with (flog computed_sum - ln computed_sum + (ln computed_sum - ln true_sum)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|exact D].
    eapply Rle_trans; [exact FL|]. apply Rmult_le_compat_l; assumption. }
  set (w := m + ln true_sum) in *. set (v := m + flog computed_sum).
  assert (V : Rabs (v - w) <= d * (ln (INR n) + loss) + loss) by (unfold v, w; replace (m + flog computed_sum - (m + ln true_sum)) with (flog computed_sum - ln true_sum) by ring; exact B).
  unfold computed_lse. fold v. pose proof (rnd_err v) as RV.
  replace (rnd v - w) with (rnd v - v + (v - w)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (Rabs v <= Rabs w + Rabs (v - w)) by (replace v with (w + (v - w)) at 1 by ring; apply Rabs_triang).
  set (q := d * (ln (INR n) + loss) + loss) in *.
  assert (u * Rabs v <= u * (Rabs w + q)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Float.

(* Both orders that are in use are orders of summation. *)
Fixpoint one_by_one (n : nat) : tree := match n with O => Leaf O | S m => Node (one_by_one m) (Leaf (S m)) end.
Lemma one_by_one_adds n : adds (S n) (one_by_one n) /\ depth (one_by_one n) = n.
Proof.
  assert (H : forall n k, (n < k)%nat -> below k (one_by_one n)) by (induction n0; simpl; intros; [assumption|split; [apply IHn0; lia|assumption]]).
  repeat split; [apply H; lia| |].
  - intros f. induction n; simpl; [ring|]. rewrite IHn. reflexivity.
  - induction n; simpl; [reflexivity|]. rewrite IHn. lia.
Qed.
Definition everything := (@softmax_error, @log_sum_exp_error, @one_by_one_adds).
Print Assumptions everything.
