(* Rounding errors one operation after the other, for every size, precision and range of the arguments.

   One lemma an operation of generated code, with the count of roundings that derive/codegen/bounds.py gives it; what is
   of second order in u stands beside the count and is not left out. Numbers are Flocq's FLX of precision p (24 is
   float32, 53 is float64): rounding to nearest even, without underflow and overflow. What is assumed of the library
   stands as hypotheses in the theorems: exp is good to e roundings, log1p to l, for sums of numbers that are not
   negative either any order of additions or, where the code adds up in two parts, two roundings. *)
From Coq Require Import Reals Lra Lia Arith.
From Flocq Require Import Core Relative.
From Flocq Require Pff.Pff2Flocq.
From DeriveCoq Require Import Derive Rounding.
Open Scope R_scope.

(* ---- what must be believed ---- *)
Definition is_float (p : Z) (x : R) : Prop := generic_format radix2 (FLX_exp p) x.
(* k roundings, each at most a factor 1/(1 - u), and what is of second order *)
Definition factor (p : Z) (k : nat) (w : R) : R := rho p ^ k * exp w.
(* the rounding error of x - y, as the code finds it, and exp(x - y) with that error put back *)
Definition difference_error (p : Z) (x y : R) : R :=
  let d := rnd p (x - y) in let b := rnd p (d - x) in rnd p (rnd p (x - rnd p (d - b)) - rnd p (b + y)).
Definition exp_difference (p : Z) (fexp : R -> R) (x y : R) : R :=
  let E := fexp (rnd p (x - y)) in rnd p (rnd p (E * difference_error p x y) + E).
(* what is of second order in it, for |x - y| <= gap *)
Definition second (p : Z) (gap : R) : R := 4 * (u p * gap) ^ 2 + u p * (u p * gap).
(* a sum without the term at j: the code puts a 0 there *)
Definition left_out (j : nat) (f : nat -> R) (k : nat) : R := if Nat.eq_dec k j then 0 else f k.
(* what is assumed: a function of the library, and a sum of its own, within so many roundings *)
Definition exp_within (p : Z) (e : nat) (fexp : R -> R) : Prop := forall x, near (rho p ^ e) (fexp x) (exp x).
Definition log1p_within (p : Z) (l : nat) (flog : R -> R) : Prop :=
  forall x, 0 <= x -> near (rho p ^ l) (flog x) (log1p x).
Definition sums_within (p : Z) (s n : nat) (fsum : (nat -> R) -> R) : Prop :=
  forall f, (forall k, (k < n)%nat -> 0 <= f k) -> near (rho p ^ s) (fsum f) (Sum n f).

(* ---- factors ---- *)
Lemma near_weaken r r' x y : 1 <= r -> r <= r' -> 0 <= y -> near r x y -> near r' x y.
Proof.
  intros R L Y [A B]; split.
  - eapply Rle_trans; [|exact A]. apply Rmult_le_compat_l; [exact Y|]. apply Rinv_le_contravar; lra.
  - eapply Rle_trans; [exact B|]. apply Rmult_le_compat_l; [exact Y|exact L].
Qed.
Lemma near_nonneg r x y : 1 <= r -> 0 <= y -> near r x y -> 0 <= x.
Proof.
  intros R Y [A _]. eapply Rle_trans; [|exact A]. apply Rmult_le_pos; [exact Y|]. left. apply Rinv_0_lt_compat. lra.
Qed.
Lemma near_mult r s x y a b : 1 <= r -> 1 <= s -> 0 <= y -> 0 <= b -> near r x y -> near s a b -> near (r * s) (x * a) (y * b).
Proof.
  intros R S Y B X A. pose proof (near_nonneg _ _ _ R Y X). pose proof (near_nonneg _ _ _ S B A).
  destruct X as [X1 X2], A as [A1 A2].
  assert (0 <= y / r) by (apply Rmult_le_pos; [exact Y|left; apply Rinv_0_lt_compat; lra]).
  assert (0 <= b / s) by (apply Rmult_le_pos; [exact B|left; apply Rinv_0_lt_compat; lra]).
  split.
  - replace (y * b / (r * s)) with (y / r * (b / s)) by (field; lra). apply Rmult_le_compat; assumption.
  - replace (y * b * (r * s)) with (y * r * (b * s)) by ring. apply Rmult_le_compat; assumption.
Qed.
Lemma near_inv s a b : 1 <= s -> 0 < b -> near s a b -> near s (/ a) (/ b).
Proof.
  intros S B N. pose proof (near_pos s a b ltac:(lra) B N) as P. destruct N as [A1 A2]. split.
  - replace (/ b / s) with (/ (b * s)) by (field; lra). apply Rinv_le_contravar; assumption.
  - replace (/ b * s) with (/ (b / s)) by (field; lra). apply Rinv_le_contravar; [apply Rdiv_lt_0_compat; lra|assumption].
Qed.
Lemma near_apart r x y : 1 <= r -> 0 <= y -> near r x y -> Rabs (x - y) <= (r - 1) * y.
Proof.
  intros R Y [A B]. apply Rabs_le. split; [|lra].
  assert (1 - (r - 1) <= / r).
  { apply (Rmult_le_reg_r r); [lra|]. rewrite Rinv_l by lra. nra. }
  assert (y * (1 - (r - 1)) <= y * / r) by (apply Rmult_le_compat_l; assumption). unfold Rdiv in A. lra.
Qed.

(* 1 + s is exp s but for a factor exp (2 s^2) *)
Lemma one_plus s : Rabs s <= / 2 -> exp (s - 2 * s ^ 2) <= 1 + s <= exp s.
Proof.
  intros H. apply Rabs_le_inv in H. split; [|apply exp_ineq1_le].
  destruct (Rle_dec 0 s) as [P|N].
  - assert (E : exp (- (s - 2 * s ^ 2)) >= 1 - (s - 2 * s ^ 2)) by (pose proof (exp_ineq1_le (- (s - 2 * s ^ 2))); lra).
    rewrite exp_Ropp in E. assert (0 < 1 - (s - 2 * s ^ 2)) by nra.
    rewrite <- (Rinv_inv (exp (s - 2 * s ^ 2))). apply Rle_trans with (/ (1 - (s - 2 * s ^ 2))).
    + apply Rinv_le_contravar; lra.
    + apply (Rmult_le_reg_l (1 - (s - 2 * s ^ 2))); [assumption|]. rewrite Rinv_r by lra.
      assert (0 <= s ^ 2) by nra. assert (0 <= s ^ 3) by (simpl; nra). assert (s ^ 2 * s = s ^ 3) by ring. nra.
  - set (a := - s). replace s with (- a) by (unfold a; ring). assert (0 < a <= / 2) by (unfold a; lra).
    replace (- a - 2 * (- a) ^ 2) with (- (a + 2 * a ^ 2)) by ring. rewrite exp_Ropp.
    pose proof (exp_ineq1_le (a + 2 * a ^ 2)). assert (0 < 1 + (a + 2 * a ^ 2)) by nra.
    apply Rle_trans with (/ (1 + (a + 2 * a ^ 2))); [apply Rinv_le_contravar; lra|].
    apply (Rmult_le_reg_l (1 + (a + 2 * a ^ 2))); [assumption|]. rewrite Rinv_r by lra.
    assert (0 <= a ^ 2) by nra. assert (a ^ 2 * a <= a ^ 2 * / 2) by (apply Rmult_le_compat_l; lra). nra.
Qed.
(* the logarithm grows more slowly than its argument *)
Lemma log1p_grows r y : 1 <= r -> 0 <= y -> ln (1 + y * r) <= ln (1 + y) * r.
Proof.
  intros R Y. set (L := ln (1 + y)). assert (EL : exp L = 1 + y) by (apply exp_ln; lra).
  assert (W : / r * exp (L * r) + (1 - / r) * 1 >= Rpower (exp (L * r)) (/ r) * Rpower 1 (1 - / r)).
  { apply row_weighted_means; [apply exp_pos|lra|apply Rle_ge; left; apply Rinv_0_lt_compat; lra|].
    rewrite <- Rinv_1. apply Rle_ge, Rinv_le_contravar; lra. }
  unfold Rpower in W. rewrite ln_1, Rmult_0_r, exp_0, ln_exp in W. replace (/ r * (L * r)) with L in W by (field; lra).
  rewrite EL in W. assert (1 + y * r <= exp (L * r)).
  { apply (Rmult_le_reg_l (/ r)); [apply Rinv_0_lt_compat; lra|]. rewrite Rmult_plus_distr_l.
    replace (/ r * (y * r)) with y by (field; lra). lra. }
  rewrite <- (ln_exp (L * r)). apply Rge_le, row_log_increasing; [lra|]. assert (0 <= y * r) by nra. lra.
Qed.

Fixpoint leaves (t : tree) : nat := match t with Leaf _ => 1%nat | Node a b => (leaves a + leaves b)%nat end.
Lemma leaves_pos t : (1 <= leaves t)%nat.
Proof. induction t; simpl; lia. Qed.
Lemma depth_leaves t : (depth t + 1 <= leaves t)%nat.
Proof. induction t; simpl; [lia|]. pose proof (leaves_pos t1). pose proof (leaves_pos t2). lia. Qed.
Lemma total_leaves t : total t (fun _ => 1) = INR (leaves t).
Proof. induction t; simpl; [reflexivity|]. rewrite IHt1, IHt2, plus_INR. reflexivity. Qed.
(* whatever the order, no number goes through more than n - 1 additions *)
Lemma depth_below n t : adds n t -> (depth t <= n - 1)%nat.
Proof.
  intros [_ A]. assert (leaves t = n) by (apply INR_eq; rewrite <- total_leaves, A; apply Sum_one).
  pose proof (depth_leaves t). lia.
Qed.

Section Errors.
Variables (p : Z) (Hp : (1 < p)%Z).
Notation u := (u p).
Notation rnd := (rnd p).
Notation rho := (rho p).
Notation factor := (factor p).
Notation is_float := (is_float p).
Instance precision : Prec_gt_0 p.
Proof. unfold Prec_gt_0; lia. Qed.

Lemma factor_ge k w : 0 <= w -> 1 <= factor k w.
Proof.
  intros W. unfold Errors.factor. pose proof (rho_pow_ge p Hp k). assert (1 <= exp w) by (rewrite <- exp_0; apply exp_le; exact W). nra.
Qed.
Lemma factor_le k k' w w' : (k <= k')%nat -> 0 <= w -> w <= w' -> factor k w <= factor k' w'.
Proof.
  intros K W L. unfold Errors.factor. pose proof (rho_pow_ge p Hp k). apply Rmult_le_compat;
  [lra|left; apply exp_pos|apply Rle_pow; [apply rho_ge; exact Hp|exact K]|apply exp_le; exact L].
Qed.
Lemma factor_plus k k' w w' : factor (k + k') (w + w') = factor k w * factor k' w'.
Proof. unfold Errors.factor. rewrite pow_add, exp_plus. ring. Qed.
Lemma factor_S k w : factor (k + 1) w = rho * factor k w.
Proof. unfold Errors.factor. rewrite pow_add. simpl. ring. Qed.
Lemma factor_0 : factor 0 0 = 1.
Proof. unfold Errors.factor. simpl. rewrite exp_0. ring. Qed.
Lemma rnd_0 : rnd 0 = 0.
Proof. apply round_0. apply valid_rnd_N. Qed.
Lemma near_rnd0 x : 0 <= x -> near rho (rnd x) x.
Proof.
  intros [X| <-]; [apply near_rnd; assumption|]. rewrite rnd_0. unfold near, Rdiv. rewrite !Rmult_0_l. lra.
Qed.

(* x is y, which is not negative, but for k roundings *)
Definition good k w x y := 0 <= w /\ 0 <= y /\ near (factor k w) x y.
(* x is y, of at most the size s, but for k roundings of the size *)
Definition off k w x y s := 0 <= w /\ Rabs y <= s /\ Rabs (x - y) <= (factor k w - 1) * s.

Lemma good_exact y : 0 <= y -> good 0 0 y y.
Proof. intros. repeat split; try lra; rewrite factor_0; unfold Rdiv; rewrite ?Rinv_1; lra. Qed.
Lemma good_le k k' w w' x y : good k w x y -> (k <= k')%nat -> w <= w' -> good k' w' x y.
Proof.
  intros [W [Y N]] K L. repeat split; try lra; apply (near_weaken (factor k w)); try assumption;
  [apply factor_ge; lra|apply factor_le; assumption|apply factor_ge; lra|apply factor_le; assumption].
Qed.
Lemma good_same k w x y z : good k w x y -> y = z -> good k w x z.
Proof. intros H <-; exact H. Qed.
Lemma good_rnd k w x y : good k w x y -> good (k + 1) w (rnd x) y.
Proof.
  intros [W [Y N]]. repeat split; try assumption; rewrite factor_S; eapply near_trans; try exact N;
  try (pose proof (rho_ge p Hp); lra); try (pose proof (factor_ge k w W); lra);
  apply near_rnd0, (near_nonneg (factor k w) x y); try assumption; apply factor_ge, W.
Qed.
Lemma good_mult k w x y k' w' a b : good k w x y -> good k' w' a b -> good (k + k' + 1) (w + w') (rnd (x * a)) (y * b).
Proof.
  intros [W [Y N]] [W' [B M]]. apply good_rnd. split; [lra|split; [apply Rmult_le_pos; assumption|]].
  rewrite factor_plus. apply near_mult; try assumption; apply factor_ge; assumption.
Qed.
Lemma good_div k w x y k' w' a b : 0 < b -> good k w x y -> good k' w' a b -> good (k + k' + 1) (w + w') (rnd (x / a)) (y / b).
Proof.
  intros P [W [Y N]] [W' [B M]]. apply good_rnd.
  assert (I : 0 <= / b) by (left; apply Rinv_0_lt_compat; exact P).
  split; [lra|split; [apply Rmult_le_pos; assumption|]].
  rewrite factor_plus. apply near_mult; try assumption; try (apply factor_ge; assumption).
  apply near_inv; try assumption. apply factor_ge, W'.
Qed.
Lemma good_plus_exact k w x y a b : good k w x y -> good k w a b -> good k w (x + a) (y + b).
Proof. intros [W [Y N]] [_ [B M]]. split; [lra|split; [lra|]]. apply near_plus; assumption. Qed.
Lemma good_plus k w x y k' w' a b : good k w x y -> good k' w' a b -> good (Nat.max k k' + 1) (Rmax w w') (rnd (x + a)) (y + b).
Proof.
  intros G G'. apply good_rnd, good_plus_exact; (eapply good_le; [eassumption|lia|]); [apply Rmax_l|apply Rmax_r].
Qed.
Lemma good_tree n t k w f g : below n t -> (forall i, (i < n)%nat -> good k w (f i) (g i)) ->
  good (k + depth t) w (rounded p t f) (total t g).
Proof.
  intros B H. induction t as [i|a IHa b IHb]; simpl in *; [rewrite Nat.add_0_r; apply H, B|].
  destruct B as [Ba Bb]. specialize (IHa Ba). specialize (IHb Bb).
  replace (k + S (Nat.max (depth a) (depth b)))%nat with (k + Nat.max (depth a) (depth b) + 1)%nat by lia.
  apply good_rnd, good_plus_exact; (eapply good_le; [eassumption|lia|lra]).
Qed.
Lemma good_sum n t k w f g : adds n t -> (forall i, (i < n)%nat -> good k w (f i) (g i)) ->
  good (k + (n - 1)) w (rounded p t f) (Sum n g).
Proof.
  intros A H. pose proof (depth_below n t A). destruct A as [B T]. rewrite <- T.
  eapply good_le; [apply (good_tree n); eassumption|lia|lra].
Qed.
Lemma good_left_out j k w f g i : good k w (f i) (g i) -> good k w (left_out j f i) ((1 - delta i j) * g i).
Proof.
  intros G. unfold left_out, delta, ind. destruct (Nat.eq_dec i j).
  - replace ((1 - 1) * g i) with 0 by ring. destruct G as [W _]. eapply good_le; [apply good_exact; lra|lia|exact W].
  - replace ((1 - 0) * g i) with (g i) by ring. exact G.
Qed.
Lemma good_own_sum n s fsum k w f g : sums_within p s n fsum -> (forall i, (i < n)%nat -> good k w (f i) (g i)) -> 0 <= w ->
  good (k + s) w (fsum f) (Sum n g).
Proof.
  intros S H W. assert (F : forall i, (i < n)%nat -> 0 <= f i).
  { intros i I. destruct (H i I) as [_ [Y N]]. apply (near_nonneg (factor k w) _ (g i)); try assumption. apply factor_ge, W. }
  split; [exact W|split; [apply Sum_nonneg; intros i I; apply (H i I)|]].
  replace (factor (k + s) w) with (rho ^ s * factor k w) by (unfold Errors.factor; rewrite pow_add; ring).
  pose proof (factor_ge k w W) as K. pose proof (rho_pow_ge p Hp s).
  eapply near_trans; [lra|lra|apply S, F|]. clear F S. induction n; simpl.
  - unfold near, Rdiv. rewrite !Rmult_0_l. lra.
  - apply near_plus; [apply IHn; intros i I; apply H; lia|apply (H n); lia].
Qed.

(* ---- functions ---- *)
Lemma good_exp e fexp x : exp_within p e fexp -> good e 0 (fexp x) (exp x).
Proof.
  intros H. split; [lra|split; [left; apply exp_pos|]]. unfold Errors.factor. rewrite exp_0, Rmult_1_r. apply H.
Qed.
Lemma good_log1p l flog k w x y : log1p_within p l flog -> good k w x y -> good (k + l) w (flog x) (log1p y).
Proof.
  intros L [W [Y N]]. pose proof (factor_ge k w W) as K. pose proof (near_nonneg _ _ _ K Y N) as X.
  split; [exact W|split; [unfold log1p; apply ln_nneg; lra|]].
  replace (factor (k + l) w) with (rho ^ l * factor k w) by (unfold Errors.factor; rewrite pow_add; ring).
  pose proof (rho_pow_ge p Hp l). eapply near_trans; [lra|lra|apply L, X|]. destruct N as [A B]. unfold log1p. split.
  - apply (Rmult_le_reg_r (factor k w)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    assert (y <= x * factor k w).
    { apply (Rmult_le_compat_r (factor k w)) in A; [|lra]. unfold Rdiv in A. rewrite Rmult_assoc, Rinv_l, Rmult_1_r in A by lra. exact A. }
    eapply Rle_trans; [|apply log1p_grows; lra]. apply Rge_le, row_log_increasing; lra.
  - eapply Rle_trans; [|apply log1p_grows; lra]. apply Rge_le, row_log_increasing; lra.
Qed.

(* the error of a difference is found exactly: Knuth's TwoSum, without underflow *)
Lemma fixed_plus e x y : generic_format radix2 (FIX_exp e) x -> generic_format radix2 (FIX_exp e) y ->
  generic_format radix2 (FIX_exp e) (x + y).
Proof.
  intros X Y. apply FIX_format_generic in X. apply FIX_format_generic in Y. destruct X as [[m1 e1] X E1], Y as [[m2 e2] Y E2].
  simpl in E1, E2. subst e1 e2. apply generic_format_FIX. exists (Float radix2 (m1 + m2) e); [|reflexivity].
  rewrite X, Y. unfold F2R; simpl. rewrite plus_IZR. ring.
Qed.
Lemma fixed_round e x : generic_format radix2 (FIX_exp e) x -> generic_format radix2 (FIX_exp e) (rnd x).
Proof. intros X. apply generic_round_generic; try typeclasses eauto. exact X. Qed.
Lemma fixed_rounds_alike e emin x : (emin + p - 1 <= e)%Z -> generic_format radix2 (FIX_exp e) x ->
  round radix2 (FLT_exp emin p) ZnearestE x = rnd x.
Proof.
  intros L X. destruct (Req_dec x 0) as [->|N].
  - rewrite rnd_0. apply round_0. apply valid_rnd_N.
  - unfold Rounding.rnd. apply round_FLT_FLX. eapply Rle_trans; [apply bpow_le; exact L|].
    apply FIX_format_generic in X. destruct X as [[m e'] X E]. simpl in E. subst e'. rewrite X in *. unfold F2R; simpl.
    rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 e)) by apply bpow_ge_0. rewrite <- abs_IZR.
    assert (1 <= IZR (Z.abs m)). { apply IZR_le. assert (m <> 0%Z) by (intros ->; apply N; unfold F2R; simpl; ring). lia. }
    pose proof (bpow_gt_0 radix2 e). nra.
Qed.
Lemma float_fixed x e : is_float x -> (e <= cexp radix2 (FLX_exp p) x)%Z -> generic_format radix2 (FIX_exp e) x.
Proof.
  intros F L. apply generic_format_FIX. unfold Errors.is_float, generic_format in F.
  exists (Float radix2 (Ztrunc (scaled_mantissa radix2 (FLX_exp p) x) * 2 ^ (cexp radix2 (FLX_exp p) x - e)) e); [|reflexivity].
  rewrite F at 1. unfold F2R; simpl Fnum; simpl Fexp. rewrite mult_IZR, Rmult_assoc. f_equal.
  change 2%Z with (radix_val radix2). rewrite IZR_Zpower by lia. rewrite <- bpow_plus. f_equal. lia.
Qed.
Lemma difference_error_exact x y : is_float x -> is_float y -> difference_error p x y = x - y - rnd (x - y).
Proof.
  intros X Y. set (e := Z.min (Z.min (cexp radix2 (FLX_exp p) x) (cexp radix2 (FLX_exp p) y)) 0).
  set (emin := (e - p)%Z). assert (FX := float_fixed x e X ltac:(lia)). assert (FY := float_fixed y e Y ltac:(lia)).
  assert (FO : forall z, generic_format radix2 (FIX_exp e) z -> generic_format radix2 (FIX_exp e) (- z)) by (intros; apply generic_format_opp; assumption).
  assert (same : forall z, generic_format radix2 (FIX_exp e) z -> round radix2 (FLT_exp emin p) ZnearestE z = rnd z)
    by (intros; apply (fixed_rounds_alike e); [unfold emin; lia|assumption]).
  assert (float : forall z, is_float z -> generic_format radix2 (FIX_exp e) z -> generic_format radix2 (FLT_exp emin p) z).
  { intros z Z0 Z1. rewrite <- (round_generic radix2 (FLX_exp p) ZnearestE z Z0). fold (rnd z). rewrite <- same by exact Z1.
    apply generic_format_round; typeclasses eauto. }
  pose proof (Pff.Pff2Flocq.TwoSum_correct emin p (fun x => negb (Z.even x)) ltac:(lia) ltac:(unfold emin; lia)) as T.
  assert (sym : forall x : Z, negb (Z.even x) = negb (negb (Z.even (- (x + 1))))).
  { intros z. rewrite Z.even_opp, Z.even_add. simpl. destruct (Z.even z); reflexivity. }
  specialize (T sym x (- y) (float x X FX)).
  assert (FYm : is_float (- y)) by (apply generic_format_opp; exact Y).
  specialize (T (float (- y) FYm (FO y FY))). cbv zeta in T.
  change (x + - y) with (x - y) in T. unfold Rminus in *.
  assert (D : generic_format radix2 (FIX_exp e) (x + - y)) by (apply fixed_plus; auto).
  rewrite (same _ D) in T. set (d := rnd (x + - y)) in *. assert (Fd : generic_format radix2 (FIX_exp e) d) by (apply fixed_round; exact D).
  assert (Gb : generic_format radix2 (FIX_exp e) (d + - x)) by (apply fixed_plus; auto).
  rewrite (same _ Gb) in T. set (b := rnd (d + - x)) in *. assert (Fb : generic_format radix2 (FIX_exp e) b) by (apply fixed_round; exact Gb).
  assert (Gc : generic_format radix2 (FIX_exp e) (d + - b)) by (apply fixed_plus; auto).
  rewrite (same _ Gc) in T. assert (Fc := fixed_round e _ Gc).
  assert (Gd : generic_format radix2 (FIX_exp e) (x + - rnd (d + - b))) by (apply fixed_plus; auto).
  rewrite (same _ Gd) in T. assert (Fdd := fixed_round e _ Gd).
  assert (Ge : generic_format radix2 (FIX_exp e) (- y + - b)) by (apply fixed_plus; auto).
  rewrite (same _ Ge) in T. assert (Fe := fixed_round e _ Ge).
  assert (O : rnd (- y + - b) = - rnd (b + y)).
  { replace (- y + - b) with (- (b + y)) by ring. unfold Rounding.rnd. apply round_NE_opp. }
  assert (Gf : generic_format radix2 (FIX_exp e) (rnd (x + - rnd (d + - b)) + rnd (- y + - b))) by (apply fixed_plus; auto).
  rewrite (same _ Gf) in T. rewrite O in T. unfold difference_error. cbv zeta. unfold Rminus. fold d. fold b. lra.
Qed.

Lemma good_exp_difference e fexp x y gap : exp_within p e fexp -> is_float x -> is_float y -> Rabs (x - y) <= gap ->
  u * gap <= / 4 -> good (e + 1) (second p gap) (exp_difference p fexp x y) (exp (x - y)).
Proof.
  intros H X Y G S. pose proof (u_range p Hp) as U. unfold exp_difference. cbv zeta. rewrite difference_error_exact by assumption.
  set (v := x - y) in *. set (d := rnd v). set (r := v - d). set (E := fexp d). set (h := u * gap) in *.
  assert (0 <= gap) by (eapply Rle_trans; [apply Rabs_pos|exact G]).
  assert (h0 : 0 <= h) by (unfold h; apply Rmult_le_pos; lra).
  assert (Rr : Rabs r <= h).
  { unfold r. rewrite Rabs_minus_sym. eapply Rle_trans; [apply rnd_err; exact Hp|]. unfold h. apply Rmult_le_compat_l; lra. }
  pose proof (H d) as HE. fold E in HE. pose proof (rho_pow_ge p Hp e) as Re.
  assert (PE : 0 < E) by (eapply near_pos; [|apply exp_pos|exact HE]; lra).
  apply good_rnd. set (q := rnd (E * r)).
  assert (Q : Rabs (q - E * r) <= u * (E * h)).
  { eapply Rle_trans; [apply rnd_err; exact Hp|]. rewrite Rabs_mult, (Rabs_pos_eq E) by lra.
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
  set (s := q / E). assert (qs : q + E = E * (1 + s)) by (unfold s; field; lra).
  assert (Sr : Rabs (s - r) <= u * h).
  { replace (s - r) with ((q - E * r) / E) by (unfold s; field; lra). unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ E)) by (left; apply Rinv_0_lt_compat; lra).
    apply (Rmult_le_reg_r E); [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
  assert (uh : u * h <= h * / 4) by nra.
  assert (Ss : Rabs s <= h + u * h).
  { replace s with (r + (s - r)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (S2 : Rabs s <= / 2) by lra. destruct (one_plus s S2) as [O1 O2].
  assert (sq : s ^ 2 <= 2 * h ^ 2).
  { rewrite <- (pow2_abs s). assert (0 <= Rabs s) by apply Rabs_pos. nra. }
  assert (W : second p gap = 4 * h ^ 2 + u * h) by reflexivity.
  assert (w0 : 0 <= second p gap) by (rewrite W; nra).
  split; [exact w0|split; [left; apply exp_pos|]].
  rewrite qs. replace (exp v) with (exp d * exp r) by (rewrite <- exp_plus; f_equal; unfold r; ring).
  unfold Errors.factor. apply near_mult; try lra.
  - rewrite <- exp_0. apply exp_le; exact w0.
  - left; apply exp_pos.
  - left; apply exp_pos.
  - exact HE.
  - apply Rabs_le_inv in Sr. split.
    + unfold Rdiv. rewrite <- exp_Ropp, <- exp_plus. eapply Rle_trans; [|exact O1]. apply exp_le. lra.
    + rewrite <- exp_plus. eapply Rle_trans; [exact O2|]. apply exp_le. nra.
Qed.

(* ---- numbers of either sign ---- *)
Lemma off_exact y : off 0 0 y y (Rabs y).
Proof. repeat split; try lra. rewrite factor_0. replace (y - y) with 0 by ring. rewrite Rabs_R0. lra. Qed.
Lemma off_good k w x y : good k w x y -> off k w x y y.
Proof.
  intros [W [Y N]]. split; [exact W|split; [rewrite Rabs_pos_eq; lra|]]. apply near_apart; try assumption. apply factor_ge, W.
Qed.
Lemma off_le k k' w w' x y s : off k w x y s -> (k <= k')%nat -> w <= w' -> off k' w' x y s.
Proof.
  intros [W [Y N]] K L. split; [lra|split; [exact Y|]]. eapply Rle_trans; [exact N|].
  apply Rmult_le_compat_r; [eapply Rle_trans; [apply Rabs_pos|exact Y]|]. pose proof (factor_le k k' w w' K W L). lra.
Qed.
Lemma off_opp k w x y s : off k w x y s -> off k w (- x) (- y) s.
Proof.
  intros [W [Y N]]. split; [exact W|split; [rewrite Rabs_Ropp; exact Y|]]. replace (- x - - y) with (- (x - y)) by ring.
  rewrite Rabs_Ropp. exact N.
Qed.
Lemma off_plus k w x y s k' w' a b s' : off k w x y s -> off k' w' a b s' ->
  off (Nat.max k k' + 1) (Rmax w w') (rnd (x + a)) (y + b) (s + s').
Proof.
  intros G G'. assert (G1 : off (Nat.max k k') (Rmax w w') x y s) by (eapply off_le; [exact G|lia|apply Rmax_l]).
  assert (G2 : off (Nat.max k k') (Rmax w w') a b s') by (eapply off_le; [exact G'|lia|apply Rmax_r]).
  revert G1 G2. generalize (Nat.max k k') (Rmax w w'). clear - Hp. intros k w [W [Y N]] [_ [B M]].
  split; [exact W|split; [eapply Rle_trans; [apply Rabs_triang|lra]|]]. rewrite factor_S. set (r := factor k w) in *.
  pose proof (factor_ge k w W) as K. fold r in K. pose proof (u_range p Hp) as U. pose proof (rho_ge p Hp).
  assert (V : Rabs (x + a - (y + b)) <= (r - 1) * (s + s')).
  { replace (x + a - (y + b)) with (x - y + (a - b)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  assert (Z : Rabs (x + a) <= r * (s + s')).
  { replace (x + a) with (x + a - (y + b) + (y + b)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (Rabs (y + b) <= s + s') by (eapply Rle_trans; [apply Rabs_triang|lra]). lra. }
  pose proof (rnd_err p Hp (x + a)) as E. replace (rnd (x + a) - (y + b)) with (rnd (x + a) - (x + a) + (x + a - (y + b))) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. assert (0 <= s + s') by (pose proof (Rabs_pos y); pose proof (Rabs_pos b); lra).
  assert (u <= rho - 1). { unfold Rounding.rho. apply (Rmult_le_reg_r (1 - u)); [lra|]. rewrite Rmult_minus_distr_r, Rinv_l by lra. nra. }
  assert (u * Rabs (x + a) <= (rho - 1) * (r * (s + s'))) by (apply Rmult_le_compat; try lra; apply Rabs_pos). nra.
Qed.

(* ---- what a report prints: k u and the second order, together below 1 ---- *)
Lemma rho_bernoulli k : INR k * u < 1 -> (1 - INR k * u) <= (1 - u) ^ k.
Proof.
  pose proof (u_range p Hp) as U. induction k; intros H; [simpl; lra|]. rewrite S_INR in *. simpl. pose proof (pos_INR k).
  assert (INR k * u < 1) by nra. specialize (IHk H1). assert (0 <= INR k * u) by nra. nra.
Qed.
Lemma factor_bound k w t : 0 <= w -> INR k * u + w <= t -> t < 1 -> factor k w - 1 <= t / (1 - t).
Proof.
  intros W B T. pose proof (u_range p Hp) as U. pose proof (pos_INR k). assert (0 <= INR k * u) by nra.
  pose proof (rho_bernoulli k ltac:(lra)) as C. pose proof (exp_ineq1_le (- w)) as E. rewrite exp_Ropp in E.
  assert (P : factor k w = / ((1 - u) ^ k * / exp w)).
  { unfold Errors.factor, Rounding.rho. rewrite pow_inv by lra. pose proof (exp_pos w). assert ((1 - u) ^ k <> 0) by (apply pow_nonzero; lra).
    field. split; lra. }
  assert (L : 1 - t <= (1 - u) ^ k * / exp w).
  { apply Rle_trans with ((1 - INR k * u) * (1 - w)); [nra|]. apply Rmult_le_compat; lra. }
  replace (t / (1 - t)) with (/ (1 - t) - 1) by (field; lra). rewrite P.
  assert (/ ((1 - u) ^ k * / exp w) <= / (1 - t)) by (apply Rinv_le_contravar; lra). lra.
Qed.
Lemma good_bound k w x y t : good k w x y -> INR k * u + w <= t -> t < 1 -> Rabs (x - y) <= t / (1 - t) * y.
Proof.
  intros G B T. pose proof (factor_bound k w t (proj1 G) B T). destruct G as [W [Y N]].
  eapply Rle_trans; [apply near_apart; [apply (factor_ge k w W)|exact Y|exact N]|]. apply Rmult_le_compat_r; assumption.
Qed.
Lemma off_bound k w x y s t : off k w x y s -> INR k * u + w <= t -> t < 1 -> Rabs (x - y) <= t / (1 - t) * s.
Proof.
  intros G B T. pose proof (factor_bound k w t (proj1 G) B T). destruct G as [W [Y N]].
  eapply Rle_trans; [exact N|]. apply Rmult_le_compat_r; [eapply Rle_trans; [apply Rabs_pos|exact Y]|assumption].
Qed.
End Errors.

(* ---- tactics and figures of the two formats ---- *)
Lemma second_pos p gap : (1 < p)%Z -> 0 <= gap -> 0 <= second p gap.
Proof. intros Hp G. pose proof (u_range p Hp). unfold second. assert (0 <= u p * gap) by nra. nra. Qed.
Lemma float_Max p n f : (0 < n)%nat -> (forall k, (k < n)%nat -> is_float p (f k)) -> is_float p (Max n f).
Proof. intros N H. rewrite Max_Argmax by exact N. apply H, Argmax_lt, N. Qed.
Lemma u_53 : u 53 = / 9007199254740992.
Proof. change (u 53) with (/ 2 * / 4503599627370496). rewrite <- Rinv_mult. apply f_equal. ring. Qed.
Lemma u_24 : u 24 = / 16777216.
Proof. change (u 24) with (/ 2 * / 8388608). rewrite <- Rinv_mult. apply f_equal. ring. Qed.
(* exponents at whose distance exponentials underflow: what is of second order is less than a hundredth of a rounding *)
Lemma small_53 : u 53 * 746 <= / 4.
Proof. rewrite u_53. lra. Qed.
Lemma small_24 : u 24 * 104 <= / 4.
Proof. rewrite u_24. lra. Qed.
Lemma second_53 : 1000000 * second 53 746 <= u 53.
Proof. unfold second. rewrite u_53. lra. Qed.
Lemma second_24 : 200 * second 24 104 <= u 24.
Proof. unfold second. rewrite u_24. lra. Qed.
Lemma u_pos p : (1 < p)%Z -> 0 <= u p.
Proof. intros Hp. pose proof (u_range p Hp). lra. Qed.
(* narrower numbers: computed in float64, rounded once to float32 *)
Lemma rounded_once x y e s : Rabs y <= s -> Rabs (x - y) <= e * s -> Rabs (rnd 24 x - y) <= (u 24 + (1 + u 24) * e) * s.
Proof.
  intros Y X. pose proof (u_range 24 ltac:(lia)). pose proof (rnd_err 24 ltac:(lia) x) as E.
  assert (Rabs x <= s + e * s) by (replace x with (y + (x - y)) by ring; eapply Rle_trans; [apply Rabs_triang|lra]).
  replace (rnd 24 x - y) with (rnd 24 x - x + (x - y)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  assert (u 24 * Rabs x <= u 24 * (s + e * s)) by (apply Rmult_le_compat_l; lra).
  replace ((u 24 + (1 + u 24) * e) * s) with (u 24 * (s + e * s) + e * s) by ring. lra.
Qed.
Ltac float := first
  [ assumption
  | match goal with H : forall _, _ |- _ => apply H; ix end
  | match goal with H : forall _, _ |- _ => apply H; [ix | ix] end
  | apply float_Max; [ix | intros; float] ].
Ltac positive := cbv beta; pos.
Ltac gap_pos := eapply Rle_trans; [apply Rabs_pos|first
  [ eassumption
  | match goal with H : forall _, _ -> _ <= _ |- _ => apply (H 0%nat ltac:(ix)) end
  | match goal with H : forall _, _ -> forall _, _ -> _ <= _ |- _ => apply (H 0%nat ltac:(ix) 0%nat ltac:(ix)) end ]].
Ltac second_order := first [lra | unfold Rmax; repeat match goal with |- context [if ?d then _ else _] => destruct d end; lra].
Ltac counted := rewrite ?plus_INR, ?mult_INR; rewrite ?minus_INR by lia; simpl INR; lra.
Ltac size := first
  [ rewrite Rabs_pos_eq; [apply Rle_refl | unfold log1p; nneg]
  | eapply Rle_trans; [apply Rabs_triang | apply Rplus_le_compat; size]
  | apply Rle_refl ].
